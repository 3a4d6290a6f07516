#pragma once

// Table: rows of cells under titles, in columns that line up.
//
//     LOCK      HOLDER   LEFT
//     nightly   w1      24.5s

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/screen/terminal_text.h"

namespace holdfast::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
    // If the table is too wide, the column may be narrowed to this width. 0: never.
    std::size_t width_min = 0;
};

// REQUIRES: the text came from escape(), or is our own.
struct Cell {
    Cell(std::string cell_text, Style cell_style = Style::plain)
        : text(std::move(cell_text)), style(cell_style) {}
    Cell(const char* cell_text) : text(cell_text) {}
    std::string text;
    Style style = Style::plain;
};

struct TableLook {
    std::size_t width_max = 0;  // 0: no limit
    bool has_colour = false;
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // REQUIRES: as many cells as there are columns.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool is_empty() const { return rows_.empty(); }

    // The titles and the rows, without line ends and without blanks at the end.
    [[nodiscard]] std::vector<std::string> lines(const TableLook& look) const;

  private:
    [[nodiscard]] std::vector<std::size_t> widths(std::size_t width_max) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// Prints it on the standard output, no wider than the terminal is.
void print(const Table& table);

}  // namespace holdfast::cli
