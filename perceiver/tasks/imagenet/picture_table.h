// Pictures with classes in a table, one each or several: as pictures to pretrain on come (paper,
// App. A, Large-scale pretraining).
#pragma once

#include "perceiver/data/labelled_files.h"
#include "perceiver/tasks/imagenet/image_folder.h"

namespace perceiver {

struct PictureTable {
  std::string table = "";
  std::string label = "";
  std::string separator = "";
  std::string rows = "";
  std::string held_out_rows = "";
};

template <typename Visitor>
void fields(Visitor& visit, PictureTable& c) {
  visit(
      {"table",
       "A .csv with the pictures of data.train and their classes, in place of folders of classes; "
       "data.train may also name it"},
      c.table);
  visit(
      {"label",
       "table: the column of classes; empty: label, labels, category, class or target; *: each "
       "column but those of files, split, fold, start and end is a class, with 1 for the pictures "
       "that have it, else 0"},
      c.label);
  visit({"separator",
         "table: what separates several classes of one picture; empty: a comma, ';' or '|' in a "
         "column called labels, nothing in others"},
        c.separator);
  visit({"rows", "table: the rows that are used, such as split=train; empty: all"}, c.rows);
  visit({"held_out_rows",
         "table: the rows that are measured on and not trained on, such as fold=4; empty: by a "
         "column 'split', where there is one"},
        c.held_out_rows);
}

// Whether data come from a table and not from folders.
bool uses_table(const ImageFolders& folders, const PictureTable& table);

// Rows of a part, with the columns' classes.
std::vector<LabelledRow> picture_rows(const ImageFolders& folders, const PictureTable& table,
                                      DataPart part);

// The classes by number: the model's names where it has some, else those of the rows in their
// order. Where pictures may have several, the model may have room for more, which get names of
// their own.
std::vector<std::string> picture_classes(const std::vector<LabelledRow>& rows, int64_t num_classes,
                                         bool several_labels,
                                         const std::vector<std::string>& model_names);

// Rows with their classes' numbers among `names`. One with several, where these are not allowed, is
// kept with its error.
std::vector<LabelledFile> labelled_pictures(const std::vector<LabelledRow>& rows,
                                            const std::vector<std::string>& names,
                                            bool several_labels);

}  // namespace perceiver
