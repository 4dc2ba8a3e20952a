// Products of bfloat16 by the tile registers of AMX. A panel of tiles_impl.h is what they load as
// it lies: pairs of rows, column beside column.
#include "perceiver/kernels/cpu/tiles_impl.h"

namespace perceiver {
namespace {

constexpr int kUnitRows = 16, kUnitDepth = 32;  // of a register: 16 rows of 64 bytes
constexpr int kPairRows = 2 * kUnitRows;
// Registers, which the compiler wants as digits: sums of the upper rows are 0 to 2, of the lower
// ones 3 to 5, rows of a 6 and of the panel 7.
constexpr int kRegisterOfPanel = 7;

// As the instruction reads it.
struct alignas(64) RegisterShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Sums and rows of a have this many rows.
void shape_registers(int64_t rows) {
  RegisterShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.row_bytes[i] = 64;
    shapes.rows[i] = static_cast<uint8_t>(i == kRegisterOfPanel ? kUnitRows : rows);
  }
  asm volatile("" : : "r"(&shapes) : "memory");  // GCC thinks that eight bytes of it are read
  _tile_loadconfig(&shapes);
}

// sums [16 or, with kPair, 32; kVectors * 16] = a * panel, over whole units of depth.
template <int kVectors, bool kPair>
void multiply_units(const Bf16* a, int64_t a_stride, const Bf16* panel, int64_t units,
                    float* sums) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const int64_t a_bytes = a_stride * 2, b_bytes = kWidth * 4;
  const Bf16* lower = a + kUnitRows * a_stride;
  _tile_zero(0);
  if constexpr (kVectors > 1) _tile_zero(1);
  if constexpr (kVectors > 2) _tile_zero(2);
  if constexpr (kPair) {
    _tile_zero(3);
    if constexpr (kVectors > 1) _tile_zero(4);
    if constexpr (kVectors > 2) _tile_zero(5);
  }
  for (int64_t unit = 0; unit < units; ++unit) {
    // Rows of a that are loaded last serve the next columns first.
    _tile_loadd(6, a, a_bytes);
    _tile_loadd(7, panel, b_bytes);
    _tile_dpbf16ps(0, 6, 7);
    if constexpr (kPair) {
      _tile_loadd(6, lower, a_bytes);
      _tile_dpbf16ps(3, 6, 7);
    }
    if constexpr (kVectors > 1) {
      _tile_loadd(7, panel + 2 * kLanes, b_bytes);
      if constexpr (kPair) {
        _tile_dpbf16ps(4, 6, 7);
        _tile_loadd(6, a, a_bytes);
      }
      _tile_dpbf16ps(1, 6, 7);
    }
    if constexpr (kVectors > 2) {
      _tile_loadd(7, panel + 4 * kLanes, b_bytes);
      _tile_dpbf16ps(2, 6, 7);
      if constexpr (kPair) {
        _tile_loadd(6, lower, a_bytes);
        _tile_dpbf16ps(5, 6, 7);
      }
    }
    a += kUnitDepth;
    lower += kUnitDepth;
    panel += kUnitDepth * kWidth;
  }
  _tile_stored(0, sums, kWidth * 4);
  if constexpr (kVectors > 1) _tile_stored(1, sums + kLanes, kWidth * 4);
  if constexpr (kVectors > 2) _tile_stored(2, sums + 2 * kLanes, kWidth * 4);
  if constexpr (kPair) {
    float* below = sums + kUnitRows * kWidth;
    _tile_stored(3, below, kWidth * 4);
    if constexpr (kVectors > 1) _tile_stored(4, below + kLanes, kWidth * 4);
    if constexpr (kVectors > 2) _tile_stored(5, below + 2 * kLanes, kWidth * 4);
  }
}

// The depth that is left over, by vectors: added to the sums.
template <int kVectors>
void add_rest(const TileProduct<Bf16>& p, int64_t row, int64_t rows, const Bf16* panel,
              float* sums) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const int64_t done = p.depth / kUnitDepth * kUnitDepth, steps = (p.depth - done + 1) / 2;
  if (steps == 0) return;
  const Bf16* a = p.a + row * p.a_stride + done;
  panel += done * kWidth;
  int64_t i = 0;
  const auto add = [&]<int kRows>() {
    float* at = sums + i * kWidth;
    const TileEnd end{at, kWidth, nullptr, at, kWidth, nullptr};
    accumulate<kRows, kVectors>(a + i * p.a_stride, p.a_stride, panel, steps, end);
    i += kRows;
  };
  while (i + kTileRows <= rows) add.template operator()<kTileRows>();
  while (i < rows) add.template operator()<1>();
}

// What comes after the product, and where it goes.
template <int kVectors>
void finish_sums(const TileProduct<Bf16>& p, int64_t row, int64_t rows, int64_t column,
                 const float* sums) {
  for (int j = 0; j < kVectors; ++j) {
    const int64_t at = column + j * kLanes;
    const __mmask16 mask = first_lanes(p.columns - at);
    const Vec start = p.start ? _mm512_maskz_loadu_ps(mask, p.start + at) : Vec{};
    for (int64_t i = 0; i < rows; ++i) {
      Vec value = load(sums + (i * kVectors + j) * kLanes) + start;
      if (p.out) {
        alignas(32) Bf16 rounded[kLanes];
        store(rounded, activated(value, p.activation));
        _mm256_mask_storeu_epi16(p.out + (row + i) * p.out_stride + at, mask,
                                 _mm256_load_si256(reinterpret_cast<__m256i*>(rounded)));
        continue;
      }
      float* c = p.c + (row + i) * p.c_stride + at;
      if (p.onto) {
        const Vec onto = _mm512_maskz_loadu_ps(mask, p.onto + (row + i) * p.onto_stride + at);
        value += p.factor ? onto * p.factor[row + i] : onto;
      }
      _mm512_mask_storeu_ps(c, mask, value);
    }
  }
}

template <int kVectors, bool kPair>
void multiply_group(const TileProduct<Bf16>& p, int64_t row, int64_t rows, int64_t column,
                    const Bf16* panel) {
  alignas(64) float sums[kPairRows * kVectors * kLanes];
  multiply_units<kVectors, kPair>(p.a + row * p.a_stride, p.a_stride, panel, p.depth / kUnitDepth,
                                  sums);
  add_rest<kVectors>(p, row, rows, panel, sums);
  finish_sums<kVectors>(p, row, rows, column, sums);
}

template <int kVectors>
void multiply_groups(const TileProduct<Bf16>& p, int64_t begin, int64_t end, int64_t column,
                     const Bf16* panel) {
  int64_t row = begin;
  for (; row + kPairRows <= end; row += kPairRows) {
    multiply_group<kVectors, true>(p, row, kPairRows, column, panel);
  }
  if (row < end) multiply_group<kVectors, false>(p, row, end - row, column, panel);
}

// Rows [begin, end): whole units, or fewer than one.
void multiply_block(const TileProduct<Bf16>& p, int64_t begin, int64_t end) {
  for_panels(p.columns, [&]<int kVectors>(int64_t column) {
    multiply_groups<kVectors>(p, begin, end, column,
                              p.panels + padded_depth<Bf16>(p.depth) * column);
  });
}

// `ahead` is left to the CPU: lines that are asked for are in the way of those that registers are
// loaded from (a layer of language at 250 GFLOP/s instead of 450).
void multiply_amx(const TileProduct<Bf16>& p) {
  if (p.rows < kTileRows || p.depth < kUnitDepth) return multiply(p);
  const int64_t whole = p.rows / kUnitRows * kUnitRows;
  shape_registers(kUnitRows);
  if (whole > 0) multiply_block(p, 0, whole);
  if (whole < p.rows) {
    shape_registers(p.rows - whole);
    multiply_block(p, whole, p.rows);
  }
  _tile_release();
}

constexpr Tiles<Bf16> amx_tiles() {
  Tiles<Bf16> made = tiles<Bf16>("amx_bf16");
  made.multiply = multiply_amx;
  made.key_block = 256;   // whole units of depth: what is left over goes by vectors
  made.row_block = 1024;  // threads that went over rows of their own would each read all weights,
                          // faster than memory brings them
  return made;
}

}  // namespace

const Tiles<Bf16>& tiles_amx() {
  static constexpr Tiles<Bf16> kTiles = amx_tiles();
  return kTiles;
}

}  // namespace perceiver
