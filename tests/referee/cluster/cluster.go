// Package cluster starts three members of etcd and three nodes of Holdfast, each of which can be killed, stopped and started again.
package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"holdfast/tests/referee/network"
	"holdfast/tests/referee/process"
)

// Size is how many members and how many nodes there are.
const Size = 3

// Place is where one process lives.
type Place struct {
	Host string
	// Ports that are free there: two for a member of etcd, PortsOfNode for a node.
	Ports []string
	// Prefix is a command that runs another one at this place; empty: here.
	Prefix []string
	// Network is nil on loopback, where no link can be lost.
	Network *network.Place
}

const portsOfMember = 2

// PortsOfNode is how many ports a node needs.
const PortsOfNode = 6

func (p Place) address(port int) string { return p.Host + ":" + p.Ports[port] }

// Unit is a member or a node: a program that is started again and again.
type Unit struct {
	Name    string
	place   Place
	command []string
	log     string
	process *process.Process
}

// Node is a unit with doors.
type Node struct {
	*Unit
	HTTP, Dflockd, Redis, Files string
	status                      string
}

// Settings of a cluster.
type Settings struct {
	Program string // the server
	Folder  string // for data and logs; empty
	Members [Size]Place
	Nodes   [Size]Place
	Options []string // of every node
	// Token that may read everything, and hand the lead over; empty: none is needed.
	Token string
	// MemberOptions of every member of etcd.
	MemberOptions []string
}

// Cluster is members and nodes.
type Cluster struct {
	Members [Size]*Unit
	Nodes   [Size]*Node
	clients [Size]string // the addresses of the members for clients
	web     http.Client
	folder  string
	token   string
}

// New starts nothing yet.
func New(settings Settings, etcd string) *Cluster {
	c := &Cluster{folder: settings.Folder, token: settings.Token, web: http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	var peers []string
	for i, place := range settings.Members {
		c.clients[i] = place.address(0)
		peers = append(peers, fmt.Sprintf("e%d=http://%s", i, place.address(1)))
	}
	for i, place := range settings.Members {
		name, url, peer := fmt.Sprintf("e%d", i), "http://"+place.address(0), "http://"+place.address(1)
		c.Members[i] = &Unit{Name: name, place: place, log: filepath.Join(settings.Folder, name+".log"), command: append([]string{etcd,
			"--name", name, "--data-dir", filepath.Join(settings.Folder, name), "--listen-client-urls", url, "--advertise-client-urls",
			url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(peers, ",")},
			settings.MemberOptions...)}
	}
	for i, place := range settings.Nodes {
		name := string(rune('a' + i))
		node := &Node{HTTP: place.address(0), Dflockd: place.address(1), Redis: place.address(2), Files: place.address(3),
			status: place.address(4)}
		command := []string{settings.Program, "serve", "--cluster", "etcd://" + strings.Join(c.clients[:], ",") + "/holdfast", "--node",
			name, "--http", node.HTTP, "--dflockd", node.Dflockd, "--redis", node.Redis, "--status", node.status, "--peer",
			place.address(5), "--advertise", place.Host, "--log-format", "text"}
		for _, option := range settings.Options {
			command = append(command, strings.ReplaceAll(option, "FILES", node.Files))
		}
		node.Unit = &Unit{Name: name, place: place, log: filepath.Join(settings.Folder, name+".log"), command: command}
		c.Nodes[i] = node
	}
	return c
}

// Start starts the process.
func (u *Unit) Start() error {
	command := append(append([]string{}, u.place.Prefix...), u.command...)
	started, err := process.Start(exec.Command(command[0], command[1:]...), u.log)
	u.process = started
	return err
}

// IsAlive is false if the process has ended or was never started.
func (u *Unit) IsAlive() bool { return u.process != nil && u.process.IsAlive() }

// Signal sends a signal to the process.
func (u *Unit) Signal(signal syscall.Signal) { u.process.Signal(signal) }

// End sends a signal and waits until the process has ended.
func (u *Unit) End(signal syscall.Signal) error { return u.process.End(signal) }

// LastWords are the last lines of the log.
func (u *Unit) LastWords() string { return u.process.LastWords() }

// Network is where the process lives; nil on loopback.
func (u *Unit) Network() *network.Place { return u.place.Network }

// StartMembers returns when etcd serves.
func (c *Cluster) StartMembers() error {
	for _, member := range c.Members {
		if err := member.Start(); err != nil {
			return err
		}
	}
	return c.Members[Size-1].process.Until(func() bool { return c.EtcdLeader() != nil })
}

// StartNodes returns when a node leads and all others know it.
func (c *Cluster) StartNodes() error {
	for _, node := range c.Nodes {
		if err := node.Start(); err != nil {
			return err
		}
	}
	return c.UntilServed()
}

// UntilServed returns when a node leads and all nodes that live agree on it.
func (c *Cluster) UntilServed() error {
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		leaders, leads := map[string]bool{}, false
		for _, node := range c.Nodes {
			if node.IsAlive() {
				picture := c.look(node)
				leaders[picture.Leader+" "+picture.Epoch.String()] = true
				leads = leads || picture.Role == "leading"
			}
		}
		if leads && len(leaders) == 1 {
			return nil
		}
	}
	return fmt.Errorf("no node leads, or not all agree on it")
}

// End ends everything.
func (c *Cluster) End() {
	for _, node := range c.Nodes {
		if node.process != nil {
			node.process.Kill()
		}
	}
	for _, member := range c.Members {
		if member.process != nil {
			member.process.Kill()
		}
	}
}

// picture is what a node says of itself.
type picture struct {
	Role   string      `json:"role"`
	Leader string      `json:"leader"`
	Epoch  json.Number `json:"epoch"`
}

func (c *Cluster) look(node *Node) picture {
	var seen picture
	_ = c.get("http://"+node.status+"/v1/node", &seen)
	return seen
}

// Leader is the node that leads, as far as it says; nil: none.
func (c *Cluster) Leader() *Node {
	for _, node := range c.Nodes {
		if node.IsAlive() && c.look(node).Role == "leading" {
			return node
		}
	}
	return nil
}

// EtcdLeader is the member that leads; nil: none.
func (c *Cluster) EtcdLeader() *Unit {
	for i, address := range c.clients {
		if !c.Members[i].IsAlive() {
			continue
		}
		var status struct {
			Header struct {
				MemberID string `json:"member_id"`
			}
			Leader string
		}
		if c.AskEtcd(address, "/v3/maintenance/status", "{}", &status) == nil && status.Leader != "" && status.Leader == status.Header.MemberID {
			return c.Members[i]
		}
	}
	return nil
}

// EtcdAddresses are those for clients.
func (c *Cluster) EtcdAddresses() []string { return c.clients[:] }

// AskEtcd sends a request to a member and decodes its answer.
func (c *Cluster) AskEtcd(address, path, body string, answer any) error {
	response, err := c.web.Post("http://"+address+path, "application/json", strings.NewReader(body))
	return decode(response, err, answer)
}

func (c *Cluster) get(url string, answer any) error {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.web.Do(request)
	return decode(response, err, answer)
}

func decode(response *http.Response, err error, answer any) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", response.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}
