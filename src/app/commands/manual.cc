#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/commands/commands.h"
#include "app/commands/reference.h"
#include "base/check.h"

namespace holdfast::app {

std::string_view manual_roff();  // the embedded file

namespace {

// Text as roff prints it: a backslash and a hyphen mean themselves, and no line is a request.
std::string escape(std::string_view text) {
    std::string escaped;
    bool begins_line = true;
    for (const char letter : text) {
        if (begins_line && (letter == '.' || letter == '\'')) escaped += "\\&";
        begins_line = letter == '\n';
        if (letter == '\\') {
            escaped += "\\e";
        } else if (letter == '-') {
            escaped += "\\-";
        } else {
            escaped += letter;
        }
    }
    return escaped;
}

std::string bold(std::string_view text) {
    return "\\fB" + escape(text) + "\\fR";
}

std::string italic(std::string_view text) {
    return "\\fI" + escape(text) + "\\fR";
}

std::string usage_of(const options::CommandEntry& command) {
    std::string usage = bold(fmt::format("{}", fmt::join(command.words, " ")));
    if (!command.options.empty()) usage += " [" + italic("options") + "]";
    for (const options::CommandOption& positional : command.positionals) {
        const std::string name =
            italic(positional.names.front()) + (positional.takes_many ? " ..." : "");
        usage += positional.is_required ? " " + name : " [" + name + "]";
    }
    return usage;
}

// What stands behind the help: `(default 30s; variable HOLDFAST_GRACE)`.
std::string remarks_on(const options::CommandOption& option) {
    std::string remarks;
    const auto add = [&](const std::string& remark) {
        remarks += (remarks.empty() ? "" : "; ") + remark;
    };
    if (!option.choices.empty()) add(escape(fmt::format("{}", fmt::join(option.choices, ", "))));
    if (!option.default_value.empty()) add("default " + bold(option.default_value));
    if (!option.variable.empty()) add("variable " + bold(option.variable));
    return remarks.empty() ? "" : " (" + remarks + ")";
}

std::string describe(const options::CommandOption& option) {
    std::string heading;
    for (const std::string& name : option.names) {
        heading += (heading.empty() ? "" : ", ") + bold(name);
    }
    if (!option.value.empty() && option.names.front().starts_with('-')) {
        heading += " " + italic(option.value);
    }
    return ".TP\n" + heading + "\n" + escape(option.help) + remarks_on(option) + "\n";
}

std::string describe(const options::CommandEntry& command) {
    std::string text = ".SS " + usage_of(command) + "\n" + escape(command.help) + "\n";
    for (const options::CommandOption& positional : command.positionals)
        text += describe(positional);
    for (const options::CommandOption& option : command.options) text += describe(option);
    if (!command.footer.empty()) {
        text += ".PP\n.nf\n" + escape(command.footer) + "\n.fi\n";
    }
    return text;
}

void replace(std::string& page, std::string_view mark, const std::string& text) {
    const auto at = page.find(mark);
    CHECK(at != std::string::npos);
    page.replace(at, mark.size(), text);
}

}  // namespace

std::string manual_page(const std::vector<options::CommandEntry>& commands) {
    std::string described;
    for (const options::CommandEntry& command : commands) {
        if (command.words.size() > 1) described += describe(command);
    }
    std::string page(manual_roff());
    replace(page, "@VERSION@", HOLDFAST_VERSION);
    replace(page, "@COMMANDS@\n", described);
    return page;
}

cli::Command declare_manual(const options::Command& program) {
    const options::Command command = program.add_command("manual", "print the manual page");
    command.footer("  holdfast manual | man -l -");
    return {command, [program] {
                std::fputs(manual_page(options::list_commands(program)).c_str(), stdout);
                return EXIT_SUCCESS;
            }};
}

}  // namespace holdfast::app
