// Package network gives each process of a cluster a network of its own, all of them joined by a bridge, and takes links away. It needs
// Linux, root and ip(8), and changes nothing outside the network namespace in which it runs.
package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast/tests/referee/process"
)

const (
	inside  = "REFEREE_IS_IN_A_NETWORK_OF_ITS_OWN"
	subnet  = "10.77.0."
	nowhere = "02:00:00:00:00:99" // no machine has this address
)

// IsInside is true if this process was started by Again.
func IsInside() bool { return os.Getenv(inside) != "" }

// Again runs this program once more, with the same arguments, in a network namespace of its own, and returns how it ended. It
// returns an error, and has run nothing, if that is not permitted here.
func Again() (int, error) {
	for _, tool := range []string{"ip", "nsenter", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			return 0, err
		}
	}
	if err := isPermitted(); err != nil {
		return 0, err
	}
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), inside+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := process.InKeeper(command.Start)
	if err == nil {
		err = command.Wait()
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	return 0, err
}

func isPermitted() error {
	trial := exec.Command("sh", "-c", "ip link set lo up && ip link add try0 type bridge && unshare -n true")
	trial.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if said, err := trial.CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, said)
	}
	return nil
}

// Network is a bridge, and the places at it.
type Network struct {
	places []*Place
	log    string
}

// Place is a network namespace with an address of its own.
type Place struct {
	Host   string
	keeper *process.Process // the namespace lives as long as this
}

// New makes the bridge. REQUIRES: IsInside(). What the tools print is appended to the file `log`.
func New(log string) (*Network, error) {
	for _, command := range []string{"ip link set lo up", "ip link add br0 type bridge", "ip addr add " + subnet + "254/24 dev br0",
		"ip link set br0 up"} {
		if err := run(strings.Fields(command)); err != nil {
			return nil, err
		}
	}
	return &Network{log: log}, nil
}

func run(command []string) error {
	said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, said)
	}
	return nil
}

// Add makes one more place.
func (n *Network) Add() (*Place, error) {
	number := len(n.places) + 1
	keeper, err := process.Start(exec.Command("unshare", "-n", "sleep", "inf"), n.log)
	if err != nil {
		return nil, err
	}
	place := &Place{Host: subnet + strconv.Itoa(number), keeper: keeper}
	n.places = append(n.places, place)
	ours, _ := os.Readlink("/proc/self/ns/net")
	err = keeper.Until(func() bool {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", keeper.ID()))
		return err == nil && theirs != ours
	})
	if err != nil {
		return nil, err
	}
	link := fmt.Sprintf("place%d", number)
	for _, command := range []string{
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", link, keeper.ID()),
		fmt.Sprintf("ip link set %s master br0", link), fmt.Sprintf("ip link set %s up", link)} {
		if err := run(strings.Fields(command)); err != nil {
			return nil, err
		}
	}
	for _, command := range []string{"ip link set lo up", "ip addr add " + place.Host + "/24 dev eth0", "ip link set eth0 up"} {
		if err := place.run(command); err != nil {
			return nil, err
		}
	}
	return place, nil
}

// Prefix is a command that runs another one at the place.
func (p *Place) Prefix() []string {
	return []string{"nsenter", "-t", strconv.Itoa(p.keeper.ID()), "-n"}
}

func (p *Place) run(command string) error { return run(append(p.Prefix(), strings.Fields(command)...)) }

// Lose loses all that `from` sends to `to`, silently, from now on. The other direction stays.
func Lose(from, to *Place) error {
	return from.run("ip neigh replace " + to.Host + " lladdr " + nowhere + " nud permanent dev eth0")
}

// Heal is the end of Lose.
func Heal(from, to *Place) error { return from.run("ip neigh del " + to.Host + " dev eth0") }

// End removes everything: the namespaces end with their processes, and the links with the namespaces.
func (n *Network) End() {
	for _, place := range n.places {
		place.keeper.Kill()
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end) && run([]string{"ip", "link", "del", "br0"}) != nil; {
		time.Sleep(10 * time.Millisecond)
	}
}
