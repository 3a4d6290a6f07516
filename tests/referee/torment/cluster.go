package torment

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/tests/referee/cluster"
	"holdfast/tests/referee/network"
)

// quota of etcd is small enough to be filled in seconds, and nothing here comes near it by itself.
const quota = 32 << 20

// Cluster is three nodes and three members of etcd.
type Cluster struct {
	*cluster.Cluster
	folder  string
	network *network.Network // nil on loopback
	watch   sync.WaitGroup
}

// newCluster returns when a node leads. Each process has a network of its own if this program runs in one.
func newCluster(settings Settings, shared *run) (*Cluster, error) {
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("there is no etcd here (apt-get install etcd-server): %w", err)
	}
	folder, err := filepath.Abs(settings.Folder)
	if err != nil {
		return nil, err
	}
	if err := writeSecrets(folder); err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder}
	shared.storeFails.Store(true) // whenever the leader changes
	members, nodes, err := c.places()
	if err != nil {
		return nil, err
	}
	options := append([]string{"--files", "FILES", "--files-root", filepath.Join(folder, "files"), "--files-shared", "--grace",
		grace.String(), "--insecure"}, secrets(folder)...)
	if !shared.endsWithConnection {
		options = append(options, "--no-dflockd-auto-release-on-disconnect")
	}
	c.Cluster = cluster.New(cluster.Settings{Program: settings.Program, Folder: folder, Members: members, Nodes: nodes, Options: options, Token: adminToken,
		MemberOptions: []string{"--quota-backend-bytes", fmt.Sprint(quota)}}, etcd)
	if err := c.StartMembers(); err != nil {
		return c, err
	}
	if err := c.StartNodes(); err != nil {
		return c, err
	}
	for _, node := range c.Nodes {
		node := node
		c.watch.Add(1)
		go func() {
			defer c.watch.Done()
			c.noteEpochs(shared, node)
		}()
	}
	return c, nil
}

func (c *Cluster) places() (members, nodes [cluster.Size]cluster.Place, err error) {
	if !network.IsInside() {
		return cluster.OnLoopback()
	}
	if c.network, err = network.New(filepath.Join(c.folder, "network.log")); err != nil {
		return members, nodes, err
	}
	return cluster.InNetwork(c.network)
}

// noteEpochs notes a restart at each change of the leader. The change was seen at one moment, and may have been at any moment since
// the node was asked before: so all of that time is noted.
func (c *Cluster) noteEpochs(shared *run, node *cluster.Node) {
	known, asked := c.Epoch(node), shared.recorder.Now()
	for !shared.isOver.Load() {
		time.Sleep(20 * time.Millisecond)
		began := shared.recorder.Now()
		epoch := c.Epoch(node)
		if epoch == 0 {
			continue
		}
		if epoch != known {
			for at := asked; at < shared.recorder.Now(); at += int64(10 * time.Millisecond) {
				shared.recorder.NoteAt("restart", at)
			}
			shared.recorder.Note("restart")
		}
		known, asked = epoch, began
	}
}

func (c *Cluster) doors() []Doors {
	var doors []Doors
	for _, node := range c.Nodes {
		doors = append(doors, Doors{node.HTTP, node.Dflockd, node.Redis, node.Files})
	}
	return doors
}

func (c *Cluster) clientsPerDoor() int { return 2 }

func (c *Cluster) patience() time.Duration { return 90 * time.Second }

func (c *Cluster) check() error {
	for _, unit := range c.units() {
		if !unit.IsAlive() {
			return fmt.Errorf("%s has ended by itself: %s", unit.Name, unit.LastWords())
		}
	}
	return nil
}

// units are members first, then nodes.
func (c *Cluster) units() []*cluster.Unit {
	units := append([]*cluster.Unit{}, c.Members[:]...)
	for _, node := range c.Nodes {
		units = append(units, node.Unit)
	}
	return units
}

func (c *Cluster) end() error {
	for _, node := range c.Nodes {
		if err := node.End(syscall.SIGTERM); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) kill() {
	c.watch.Wait()
	c.Cluster.End()
	if c.network != nil {
		c.network.End()
	}
}

// isOldEtcd: a member of etcd 3.4 that stood still may act as leader once more when it goes on.
func (c *Cluster) isOldEtcd() bool { return strings.HasPrefix(c.EtcdVersion(), "3.4.") }
