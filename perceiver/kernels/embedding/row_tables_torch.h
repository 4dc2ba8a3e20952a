// The kernel of gather_rows.h as a function of tensors. In a program built without it, it refuses.
#pragma once

#include "perceiver/kernels/embedding/row_tables.h"

namespace perceiver {

bool cuda_tables_take(const RowTables& tables, const Tensor& ids, at::ScalarType dtype);
Tensor cuda_looked_up(const RowTables& tables, const Tensor& ids, at::ScalarType dtype);

}  // namespace perceiver
