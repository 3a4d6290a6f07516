#include "cli/screen/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/check.h"

namespace holdfast::cli {

namespace {

constexpr std::size_t gap = 2;

std::string padded(const Cell& cell, std::size_t width, Align align, bool has_colour) {
    const std::string text = clipped(cell.text, width);
    const std::string room(width - cell_width(text), ' ');
    const std::string look = styled(text, cell.style, has_colour);
    return align == Align::left ? look + room : room + look;
}

}  // namespace

void Table::add(std::vector<Cell> row) {
    CHECK(row.size() == columns_.size());
    rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(std::size_t width_max) const {
    std::vector<std::size_t> widths;
    for (std::size_t index = 0; index < columns_.size(); ++index) {
        std::size_t width = cell_width(columns_[index].title);
        for (const auto& row : rows_) width = std::max(width, cell_width(row[index].text));
        widths.push_back(width);
    }
    if (width_max == 0) return widths;
    // The widest column is narrowed first, so that the columns become equally wide.
    while (std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1)) > width_max) {
        std::size_t widest = columns_.size();
        for (std::size_t index = 0; index < columns_.size(); ++index) {
            const std::size_t floor = columns_[index].width_min;
            if (floor == 0 || widths[index] <= floor) continue;
            if (widest == columns_.size() || widths[index] > widths[widest]) widest = index;
        }
        if (widest == columns_.size()) break;
        --widths[widest];
    }
    return widths;
}

std::vector<std::string> Table::lines(const TableLook& look) const {
    const std::vector<std::size_t> width = widths(look.width_max);
    const auto line_of = [&](const auto& cell_at) {
        std::string line;
        for (std::size_t index = 0; index < columns_.size(); ++index) {
            const Cell cell = cell_at(index);
            if (index > 0) line += std::string(gap, ' ');
            const bool is_last = index + 1 == columns_.size();
            const bool is_left = columns_[index].align == Align::left;
            const std::size_t room =
                is_last && is_left ? std::min(width[index], cell_width(cell.text)) : width[index];
            line += padded(cell, room, columns_[index].align, look.has_colour);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    };
    std::vector<std::string> lines{
        line_of([&](std::size_t index) { return Cell(columns_[index].title, Style::bold); })};
    for (const auto& row : rows_) {
        lines.push_back(line_of([&](std::size_t index) { return row[index]; }));
    }
    return lines;
}

void print(const Table& table) {
    const TableLook look{.width_max = terminal_width(STDOUT_FILENO),
                         .has_colour = wants_colour(STDOUT_FILENO)};
    for (const std::string& line : table.lines(look)) std::puts(line.c_str());
}

}  // namespace holdfast::cli
