#include "app/commands/reference.h"

#include <gmock/gmock.h>

#include "app/commands/commands.h"
#include "app/commands/complete.h"
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
        sync.add_option("TARGET", texts, "what to sync").takes("FILE").required();
        const options::Command deep = sync.add_command("deep", ".begins with a dot");
        deep.add_option("--level", text, "of another kind").takes("NUMBER");
        app.add_command("unseen", "not for you either").group("");
        const options::Command run = app.add_command("run", "with a lock");
        run.add_option("lock", text, "which").takes("LOCK");
        run.add_option("--wait", text, "how long").takes("TIME");
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
    ASSERT_THAT(commands, SizeIs(4));
    EXPECT_THAT(commands[0].children, ElementsAre("sync", "run"));
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

// What is offered for the last word, as the shells read it.
std::string offered(const std::vector<std::string>& words) {
    const Program program;
    const auto find_locks = [](const std::string& beginning) {
        return std::vector<std::string>{beginning + "-lock"};
    };
    return to_text(complete(options::list_commands(program.app), words, find_locks));
}

TEST(Completion, OffersCommandsAndOptions) {
    EXPECT_EQ(offered({""}), "sync\tit's a \\ command\nrun\twith a lock\n");
    EXPECT_EQ(offered({"sy"}), "sync\tit's a \\ command\n");
    EXPECT_EQ(offered({"sync", "--q"}), "--quiet\tsay nothing\n");
    EXPECT_EQ(offered({"sync", "de"}), "deep\t.begins with a dot\n:files\n");
    EXPECT_EQ(offered({"unse"}), "");
    EXPECT_EQ(offered({"sync", "--secret"}), "");
}

TEST(Completion, OffersValues) {
    EXPECT_EQ(offered({"sync", "--level", ""}), "low\t\nhigh\t\n");
    EXPECT_EQ(offered({"sync", "--level", "h"}), "high\t\n");
    EXPECT_EQ(offered({"sync", "--key", ""}), ":files\n");
    EXPECT_EQ(offered({"sync", "--root", "x"}), ":folders\n");
    EXPECT_EQ(offered({"sync", "deep", "--level", ""}), "");
}

TEST(Completion, OffersLocksAndThenCommands) {
    EXPECT_EQ(offered({"run", "night"}), "night-lock\t\n");
    EXPECT_EQ(offered({"run", "--wait", "1s", "night"}), "night-lock\t\n");
    EXPECT_EQ(offered({"run", "nightly", ""}), ":command 2\n");
    EXPECT_EQ(offered({"run", "nightly", "--wait", ""}), "");
    EXPECT_EQ(offered({"run", "nightly", "--wait", "1s", "rsync", "-"}), ":command 4\n");
    EXPECT_EQ(offered({"run", "nightly", "--", "rs"}), ":command 3\n");
    EXPECT_EQ(offered({"run", "db-a", "db-b", "--", "mi"}), ":command 4\n");
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
            EXPECT_EQ(command.run().value(), 0);
        }
        return ::testing::internal::GetCapturedStdout();
    };
    EXPECT_THAT(ask({"completion", "bash"}), HasSubstr("complete -F _holdfast holdfast"));
    EXPECT_THAT(ask({"completion", "zsh"}), HasSubstr("#compdef holdfast"));
    EXPECT_THAT(ask({"completion", "fish"}), HasSubstr("complete -c holdfast"));
    EXPECT_THAT(ask({"manual"}), HasSubstr(".SH NAME"));
    EXPECT_EQ(ask({}), "");
    EXPECT_THAT(ask({"completion", "cmd"}), HasSubstr("cmd is none of bash, zsh, fish"));
}

}  // namespace
}  // namespace holdfast::app
