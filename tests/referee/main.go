// referee judges what clients of a lock server were told. docs/referee.md explains it.
//
//	referee judge history.jsonl             a history that was recorded before, by any program
//	referee run --holdfast PROGRAM          clients of every door at a real server, which is tormented meanwhile; --cluster: at three
//	referee corruption --holdfast PROGRAM   the server on files that are damaged, or that a loss of power left behind
//	referee soak --holdfast PROGRAM         the server with clients that come and go for hours: nothing of them may stay
//	referee planted --holdfast PROGRAM      a server in which a mistake was planted, one after the other: each must be found
//	referee lock-set --holdfast PROGRAM     what paused clients lose with locks of several systems: docs/correctness.md
//
// It ends with 0 if the history is one that a lock server may have, with 1 if it is not, and with 2 if it could not be judged.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"holdfast/tests/referee/corruption"
	"holdfast/tests/referee/history"
	"holdfast/tests/referee/judge"
	"holdfast/tests/referee/lockset"
	"holdfast/tests/referee/network"
	"holdfast/tests/referee/planted"
	"holdfast/tests/referee/soak"
	"holdfast/tests/referee/torment"
)

// isSkipped is how the program ends if something is missing here that the test needs.
const isSkipped = 77

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say what to do: judge, run, corruption, soak, planted or lock-set"))
	}
	switch os.Args[1] {
	case "judge":
		os.Exit(judgeFile(os.Args[2:]))
	case "run":
		os.Exit(runServer(os.Args[2:]))
	case "planted":
		os.Exit(findPlanted(os.Args[2:]))
	case "soak":
		os.Exit(soakServer(os.Args[2:]))
	case "corruption":
		os.Exit(corrupt(os.Args[2:]))
	case "lock-set":
		os.Exit(lockSet(os.Args[2:]))
	case "lock-set-client":
		os.Exit(lockSetClient(os.Args[2:]))
	default:
		fail(fmt.Errorf("unknown command %q: judge, run, corruption, soak, planted or lock-set", os.Args[1]))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "referee:", err)
	os.Exit(2)
}

func judgeFile(arguments []string) int {
	flags := flag.NewFlagSet("judge", flag.ExitOnError)
	out := flags.String("out", ".", "folder for pictures of violations")
	budget := flags.Int("budget", judge.DefaultBudget, "how many states to look at for one lock before giving up")
	_ = flags.Parse(arguments)
	if flags.NArg() != 1 {
		fail(fmt.Errorf("name one file of a history"))
	}
	file, err := os.Open(flags.Arg(0))
	if err != nil {
		fail(err)
	}
	defer file.Close()
	h, err := history.Parse(file)
	if err != nil {
		fail(err)
	}
	return report(h, *budget, *out, "again: referee judge "+flags.Arg(0))
}

// report judges, prints and says how the program ends.
func report(h *history.History, budget int, out, repeat string) int {
	verdict, err := judge.Judge(h, budget)
	if err != nil {
		fail(err)
	}
	fmt.Print(verdict.Text(h))
	if verdict.IsGood() {
		return 0
	}
	shown, err := verdict.Show(out, repeat)
	if err != nil {
		fail(err)
	}
	fmt.Printf("\n%s\npictures are in %s\n", shown, out)
	return 1
}

func runServer(arguments []string) int {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	program := flags.String("holdfast", "", "the server's program")
	folder := flags.String("out", "", "folder for the history, the log and pictures; a new one in the temporary folder if none is named")
	cpp := flags.String("cpp-recorder", "", "the program referee_cpp_recorder, a client of the SDK for C++")
	isCluster := flags.Bool("cluster", false, "three nodes and three members of etcd, instead of one server")
	seed := flags.Int64("seed", 0, "decides what goes wrong; 0: by chance")
	lasts := flags.Duration("lasts", 30*time.Second, "how long everything goes wrong; longer until each torment had its turn")
	only := flags.String("only", "", "the only torments, with a semicolon between their names")
	some := flags.Int("some", 0, "only so many torments, chosen by the seed; 0: all")
	calm := flags.Bool("calm", false, "nothing goes wrong")
	budget := flags.Int("budget", judge.DefaultBudget, "how many states to look at for one lock before giving up")
	_ = flags.Parse(arguments)
	if _, err := exec.LookPath("etcd"); *isCluster && err != nil {
		fmt.Println("*** SKIPPED: there is no etcd here (apt-get install etcd-server): the cluster is not tested ***")
		return isSkipped
	}
	if *isCluster && !network.IsInside() {
		code, err := network.Again()
		if err == nil {
			return code
		}
		fmt.Printf("*** all is on loopback, and no link is lost: networks of our own are not permitted here: %v ***\n", err)
	}
	if *seed == 0 {
		*seed = time.Now().UnixNano()%1_000_000 + 1
	}
	isOurs := *folder == ""
	if isOurs {
		made, err := os.MkdirTemp("", "referee-")
		if err != nil {
			fail(err)
		}
		*folder = made
	} else if err := os.MkdirAll(*folder, 0o777); err != nil {
		fail(err)
	}
	fmt.Printf("referee, seed %d, %s: ", *seed, *lasts)
	outcome, err := torment.Run(torment.Settings{Program: *program, CppRecorder: *cpp, Cluster: *isCluster, Folder: *folder, Seed: *seed, Lasts: *lasts, Only: *only, Some: *some, Calm: *calm,
		Out: os.Stdout})
	if err != nil {
		fmt.Printf("*** the run failed: %v; everything is in %s ***\n", err, *folder)
	}
	repeat := fmt.Sprintf("again: referee run --holdfast %s --seed %d --lasts %s --budget %d", *program, *seed, *lasts, *budget)
	if *cpp != "" {
		repeat += " --cpp-recorder " + *cpp
	}
	if *isCluster {
		repeat += " --cluster"
	}
	if *only != "" {
		repeat += fmt.Sprintf(" --only %q", *only)
	}
	if *some > 0 {
		repeat += fmt.Sprintf(" --some %d", *some)
	}
	if *calm {
		repeat += " --calm"
	}
	if outcome == nil {
		return 1
	}
	verdict := report(outcome.History, *budget, *folder, repeat)
	for _, answer := range outcome.Strange {
		fmt.Printf("no document describes this answer: %s\n", answer)
	}
	if err != nil || len(outcome.Strange) > 0 {
		verdict = 1
	}
	if verdict == 0 && isOurs {
		_ = os.RemoveAll(*folder)
	}
	return verdict
}

func corrupt(arguments []string) int {
	flags := flag.NewFlagSet("corruption", flag.ExitOnError)
	program := flags.String("holdfast", "", "the server's program")
	seed := flags.Int64("seed", 1, "decides what is damaged")
	cases := flags.Int("cases", 200, "how many")
	_ = flags.Parse(arguments)
	folder, err := os.MkdirTemp("", "corruption-")
	if err != nil {
		fail(err)
	}
	began := time.Now()
	faults, err := corruption.Run(corruption.Settings{Program: *program, Folder: folder, Seed: *seed, Cases: *cases, Out: os.Stdout})
	if err != nil {
		fail(fmt.Errorf("%w; everything is in %s", err, folder))
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	fmt.Printf("%d cases in %s: %d not allowed\n", *cases, time.Since(began).Round(time.Second), len(faults))
	if len(faults) > 0 {
		fmt.Printf("again: referee corruption --holdfast %s --seed %d --cases %d; everything is in %s\n", *program, *seed, *cases, folder)
		return 1
	}
	_ = os.RemoveAll(folder)
	return 0
}

func soakServer(arguments []string) int {
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	program := flags.String("holdfast", "", "the server's program")
	lasts := flags.Duration("lasts", time.Minute, "how long clients come and go")
	connections := flags.Int("connections", 10_000, "how many are open at once, beside those at work")
	_ = flags.Parse(arguments)
	folder, err := os.MkdirTemp("", "soak-")
	if err != nil {
		fail(err)
	}
	if err := soak.Run(soak.Settings{Program: *program, Folder: folder, Lasts: *lasts, Connections: *connections, Out: os.Stdout}); err != nil {
		fmt.Printf("*** something stays: %v; the log is in %s ***\n", err, folder)
		return 1
	}
	_ = os.RemoveAll(folder)
	fmt.Println("nothing of them stays")
	return 0
}

func findPlanted(arguments []string) int {
	flags := flag.NewFlagSet("planted", flag.ExitOnError)
	program := flags.String("holdfast", "", "the program holdfast_planted")
	only := flags.String("only", "", "the only mistake")
	lasts := flags.Duration("lasts", 12*time.Second, "how long each is sought")
	out := flags.String("out", "", "folder for the histories and pictures; a new one in the temporary folder if none is named")
	_ = flags.Parse(arguments)
	if *out == "" {
		made, err := os.MkdirTemp("", "planted-")
		if err != nil {
			fail(err)
		}
		*out = made
	}
	missed, err := planted.Run(planted.Settings{Program: *program, Folder: *out, Only: *only, Lasts: *lasts, Out: os.Stdout})
	if err != nil {
		fail(err)
	}
	fmt.Printf("%d were not found; histories and pictures are in %s\n", len(missed), *out)
	if len(missed) > 0 {
		return 1
	}
	return 0
}

func lockSet(arguments []string) int {
	flags := flag.NewFlagSet("lock-set", flag.ExitOnError)
	program := flags.String("holdfast", "", "the server's program")
	seed := flags.Int64("seed", 1, "decides who is paused when")
	runs := flags.Int("runs", 3, "how often each system is tested")
	additions := flags.Int("additions", 1000, "in each run")
	kills := flags.Int("kills", 10, "how often a holder is killed, and a leader, in each system")
	only := flags.String("only", "", "the only system: holdfast, etcd, redis or postgresql")
	table := flags.String("table", "", "the only table: losses, times or leader")
	_ = flags.Parse(arguments)
	folder, err := os.MkdirTemp("", "lock-set-")
	if err != nil {
		fail(err)
	}
	err = lockset.Run(lockset.Settings{Holdfast: *program, Folder: folder, Seed: *seed, Runs: *runs, Additions: *additions,
		Kills: *kills, Only: *only, Table: *table, Out: os.Stdout})
	if err != nil {
		fail(fmt.Errorf("%w; everything is in %s", err, folder))
	}
	_ = os.RemoveAll(folder)
	return 0
}

// lockSetClient is one of the processes that `lock-set` pauses and kills.
func lockSetClient(arguments []string) int {
	if len(arguments) != 5 {
		fail(fmt.Errorf("lock-set starts its clients itself"))
	}
	number, err := strconv.Atoi(arguments[3])
	if err != nil {
		fail(err)
	}
	work, err := time.ParseDuration(arguments[4])
	if err != nil {
		fail(err)
	}
	if err := lockset.RunClient(arguments[0], strings.Split(arguments[1], ","), arguments[2], number, work); err != nil {
		return 1
	}
	return 0
}
