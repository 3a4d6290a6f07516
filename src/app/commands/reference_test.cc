#include "app/commands/reference.h"

#include <gmock/gmock.h>

#include "app/commands/commands.h"
#include "options/command_tree.h"
#include "options/options.h"

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A program with everything that a command line can have.
struct Program {
    Program() {
        const options::Command sync = app.add_command("sync", "it's a \\ command");
        sync.add_option("-l,--level", text, "how loud")
            .among({"low", "high"})
            .shows_default("low")
            .variable("SYNC_LEVEL");
        sync.add_option("--key", text, "where the key is").takes("FILE");
        sync.add_option("--root", text, "where to begin").takes("DIR");
        sync.add_flag("--quiet", flag, "say nothing");
        sync.add_option("--secret-ingredient", text, "not for you").group("");
        sync.add_option("TARGET", texts, "what to sync").required();
        const options::Command deep = sync.add_command("deep", ".begins with a dot");
        deep.add_option("--level", text, "of another kind").takes("NUMBER");
        app.add_command("unseen", "not for you either").group("");
    }

    options::Program parser{"", "a program"};
    options::Command app = parser.root();
    std::string text;
    std::vector<std::string> texts;
    bool flag = false;
};

TEST(CommandTree, HoldsWhatTheParserKnows) {
    const Program program;
    const std::vector<options::CommandEntry> commands = options::list_commands(program.app);
    ASSERT_THAT(commands, SizeIs(3));
    EXPECT_THAT(commands[0].children, ElementsAre("sync"));
    const options::CommandEntry& sync = commands[1];
    EXPECT_THAT(sync.words, ElementsAre("holdfast", "sync"));
    EXPECT_THAT(sync.children, ElementsAre("deep"));
    ASSERT_THAT(sync.options, SizeIs(5));  // with --help
    EXPECT_THAT(sync.options[1].names, ElementsAre("-l", "--level"));
    EXPECT_THAT(sync.options[1].choices, ElementsAre("low", "high"));
    EXPECT_EQ(sync.options[1].default_value, "low");
    EXPECT_EQ(sync.options[1].variable, "SYNC_LEVEL");
    EXPECT_EQ(sync.options[2].value, "FILE");
    EXPECT_EQ(sync.options[4].value, "");
    ASSERT_THAT(sync.positionals, SizeIs(1));
    EXPECT_THAT(sync.positionals[0].names, ElementsAre("TARGET"));
    EXPECT_TRUE(sync.positionals[0].is_required);
    EXPECT_TRUE(sync.positionals[0].takes_many);
    EXPECT_THAT(commands[2].words, ElementsAre("holdfast", "sync", "deep"));
}

TEST(Completion, OffersEveryCommandAndOptionInEveryShell) {
    const Program program;
    const auto commands = options::list_commands(program.app);
    const std::string bash = bash_completion(commands);
    EXPECT_THAT(bash, HasSubstr("' sync') choices='deep -h --help -l --level --key"));
    EXPECT_THAT(bash, HasSubstr("' sync -l' | ' sync --level') mapfile -t COMPREPLY < <(compgen "
                                "-W 'low high'"));
    EXPECT_THAT(bash, HasSubstr("' sync deep --level') :; return"));
    const std::string zsh = zsh_completion(commands);
    EXPECT_THAT(zsh, HasSubstr(R"('sync:it'\''s a \ command')"));
    EXPECT_THAT(zsh, HasSubstr("' sync --root') _files -/; return"));
    const std::string fish = fish_completion(commands);
    EXPECT_THAT(fish, HasSubstr(R"( -a sync -d 'it\'s a \\ command')"));
    EXPECT_THAT(fish, HasSubstr(R"(-n '__holdfast_at \' sync\'' -l key -r -F -d)"));
    for (const std::string& script : {bash, zsh, fish}) {
        EXPECT_THAT(script, Not(HasSubstr("ingredient")));
        EXPECT_THAT(script, Not(HasSubstr("unseen")));
    }
}

TEST(Manual, DescribesEveryCommandAndOption) {
    const Program program;
    const std::string page = manual_page(options::list_commands(program.app));
    EXPECT_THAT(page, HasSubstr(".SS \\fBholdfast sync\\fR [\\fIoptions\\fR] \\fITARGET\\fR ...\n"
                                "it's a \\e command\n"));
    EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-l\\fR, \\fB\\-\\-level\\fR \\fITEXT\\fR\nhow loud "
                                "(low, high; default \\fBlow\\fR; variable \\fBSYNC_LEVEL\\fR)\n"));
    EXPECT_THAT(page, HasSubstr("\n\\&.begins with a dot\n"));
    EXPECT_THAT(page, Not(HasSubstr("ingredient")));
    EXPECT_THAT(page, Not(HasSubstr("@COMMANDS@")));
    EXPECT_THAT(page, Not(HasSubstr("@VERSION@")));
}

TEST(ReferenceCommands, PrintWhatWasAskedFor) {
    const auto ask = [](const std::vector<std::string>& line) -> std::string {
        const options::Program program("", "a program");
        const cli::Command commands[] = {declare_completion(program.root()),
                                         declare_manual(program.root())};
        if (const auto stop = program.parse(line)) return stop->message;
        ::testing::internal::CaptureStdout();
        for (const cli::Command& command : commands) {
            if (!command.options.is_called()) continue;
            EXPECT_EQ(command.run(), 0);
        }
        return ::testing::internal::GetCapturedStdout();
    };
    EXPECT_THAT(ask({"completion", "bash"}), HasSubstr("complete -F _holdfast holdfast"));
    EXPECT_THAT(ask({"completion", "zsh"}), HasSubstr("#compdef holdfast"));
    EXPECT_THAT(ask({"completion", "fish"}), HasSubstr("complete -c holdfast"));
    EXPECT_THAT(ask({"manual"}), HasSubstr(".SH NAME"));
    EXPECT_EQ(ask({}), "");
    EXPECT_THAT(ask({"completion", "cmd"}), HasSubstr("cmd not in {bash,zsh,fish}"));
}

}  // namespace
}  // namespace holdfast::app
