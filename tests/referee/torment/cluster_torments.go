package torment

import (
	"syscall"
	"time"

	"holdfast/tests/referee/cluster"
	"holdfast/tests/referee/network"
)

// ofCluster is what goes wrong with a cluster.
type ofCluster struct {
	*bench
	*Cluster
}

func (c *Cluster) torments(b *bench) []torment {
	t := &ofCluster{b, c}
	torments := append(append(b.links(), b.rights(c.folder, c.signal)...),
		torment{name: "the leader is killed", do: func() error { return t.restartNode(c.Leader(), syscall.SIGKILL) }},
		torment{name: "a follower is killed", do: func() error { return t.restartNode(t.follower(), syscall.SIGKILL) }},
		torment{name: "the leader is stopped", do: func() error { return t.restartNode(c.Leader(), syscall.SIGTERM) }},
		torment{name: "all nodes are killed", do: t.killAll},
		torment{name: "the leader hands over", do: t.resign},
		torment{name: "the leader stands still", do: func() error { return t.suspend(c.Leader(), 4*time.Second, 7*time.Second) }},
		torment{name: "the leader stands still for a moment", do: func() error { return t.suspend(c.Leader(), 100*time.Millisecond, 2*time.Second) }},
		torment{name: "the next leader stands still while it takes over", do: t.suspendInTakeover},
		torment{name: "a new epoch", do: t.newEpoch},
		torment{name: "the lease of the leader is revoked", do: c.RevokeLease},
		torment{name: "etcd is full", do: t.fill},
		torment{name: "etcd is full, and the leader is killed", do: t.fillAndKill},
		torment{name: "etcd is compacted", do: c.Compact},
		torment{name: "a member of etcd is killed", do: t.killMember},
		torment{name: "a member of etcd is replaced", do: t.replaceMember},
		torment{name: "a member of etcd stands still", do: t.suspendMember, isApart: c.isOldEtcd()})
	if c.network == nil {
		return torments
	}
	return append(torments,
		torment{name: "the leader is cut off from etcd", do: func() error { return t.cutLeader(true, true) }},
		torment{name: "the leader is cut off from the nodes", do: t.cutFromNodes},
		torment{name: "what the leader sends to etcd is lost", do: func() error { return t.cutLeader(true, false) }},
		torment{name: "what etcd sends to the leader is lost", do: func() error { return t.cutLeader(false, true) }},
		torment{name: "the cluster falls into halves", do: t.halve},
		torment{name: "the leader is cut off again and again", do: t.flap})
}

func (c *Cluster) signal(signal syscall.Signal) {
	for _, node := range c.Nodes {
		node.Signal(signal)
	}
}

func (t *ofCluster) follower() *cluster.Node {
	leader := t.Leader()
	for _, place := range t.random.Perm(cluster.Size) {
		if node := t.Nodes[place]; node != leader {
			return node
		}
	}
	return nil
}

func (t *ofCluster) restartNode(node *cluster.Node, signal syscall.Signal) error {
	if node == nil {
		return nil
	}
	if err := node.End(signal); err != nil {
		return err
	}
	t.pause(500*time.Millisecond, 4*time.Second)
	return node.Start()
}

func (t *ofCluster) killAll() error {
	for _, node := range t.Nodes {
		if err := node.End(syscall.SIGKILL); err != nil {
			return err
		}
	}
	for _, place := range t.random.Perm(cluster.Size) {
		t.pause(0, time.Second)
		if err := t.Nodes[place].Start(); err != nil {
			return err
		}
	}
	return nil
}

func (t *ofCluster) resign() error {
	if leader := t.Leader(); leader != nil {
		_, _ = t.Resign(leader) // it may have lost the lead meanwhile
	}
	return nil
}

func (t *ofCluster) newEpoch() error {
	if leader := t.Leader(); leader != nil {
		_, _ = t.NewEpoch(leader)
	}
	return nil
}

func (t *ofCluster) suspend(node *cluster.Node, least, most time.Duration) error {
	if node == nil {
		return nil
	}
	node.Signal(syscall.SIGSTOP)
	t.pause(least, most)
	node.Signal(syscall.SIGCONT)
	return nil
}

func (t *ofCluster) suspendInTakeover() error {
	before := t.Elected()
	if err := t.resign(); err != nil {
		return err
	}
	next := t.Elected()
	for end := time.Now().Add(15 * time.Second); (next == nil || next == before) && time.Now().Before(end); {
		next = t.Elected()
	}
	t.pause(0, 10*time.Millisecond)
	return t.suspend(next, 4*time.Second, 6*time.Second)
}

func (t *ofCluster) fill() error {
	err := t.Fill()
	t.pause(time.Second, 4*time.Second)
	if freed := t.Free(); err == nil {
		err = freed
	}
	return err
}

func (t *ofCluster) fillAndKill() error {
	err := t.Fill()
	t.pause(0, time.Second)
	if restarted := t.restartNode(t.Leader(), syscall.SIGKILL); err == nil {
		err = restarted
	}
	t.pause(0, 4*time.Second)
	if freed := t.Free(); err == nil {
		err = freed
	}
	return err
}

func (t *ofCluster) killMember() error {
	member := t.Members[t.random.Intn(cluster.Size)]
	if err := member.End(syscall.SIGKILL); err != nil {
		return err
	}
	t.pause(time.Second, 4*time.Second)
	return member.Start()
}

// replaceMember: the new member does everything again that its log says, with all that was removed later. So it may raise the alarm
// that it is full, and an operator frees it.
func (t *ofCluster) replaceMember() error {
	if err := t.Replace(t.random.Intn(cluster.Size)); err != nil {
		return err
	}
	return t.Free()
}

func (t *ofCluster) suspendMember() error {
	member := t.Members[t.random.Intn(cluster.Size)]
	member.Signal(syscall.SIGSTOP)
	t.pause(time.Second, 5*time.Second)
	member.Signal(syscall.SIGCONT)
	return nil
}

// link is one direction between two places.
type link struct{ from, to *network.Place }

// lose loses links for a while.
func (t *ofCluster) lose(links []link, least, most time.Duration) error {
	var failed error
	for _, one := range links {
		if err := network.Lose(one.from, one.to); err != nil && failed == nil {
			failed = err
		}
	}
	t.pause(least, most)
	for _, one := range links {
		if err := network.Heal(one.from, one.to); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}

// between are the links between two groups.
func between(some, others []*cluster.Unit, there, back bool) []link {
	var links []link
	for _, a := range some {
		for _, b := range others {
			if there {
				links = append(links, link{a.Network(), b.Network()})
			}
			if back {
				links = append(links, link{b.Network(), a.Network()})
			}
		}
	}
	return links
}

func (t *ofCluster) cutLeader(there, back bool) error {
	leader := t.Leader()
	if leader == nil {
		return nil
	}
	return t.lose(between([]*cluster.Unit{leader.Unit}, t.Members[:], there, back), time.Second, 7*time.Second)
}

func (t *ofCluster) cutFromNodes() error {
	leader := t.Leader()
	var others []*cluster.Unit
	for _, node := range t.Nodes {
		if node != leader {
			others = append(others, node.Unit)
		}
	}
	if leader == nil {
		return nil
	}
	return t.lose(between([]*cluster.Unit{leader.Unit}, others, true, true), time.Second, 7*time.Second)
}

// halve leaves one node and one member alone with each other: the leader, or any, with the leader of etcd, or any.
func (t *ofCluster) halve() error {
	node, member := t.Nodes[t.random.Intn(cluster.Size)], t.Members[t.random.Intn(cluster.Size)]
	if leader := t.Leader(); leader != nil && t.random.Intn(2) == 0 {
		node = leader
	}
	if leader := t.EtcdLeader(); leader != nil && t.random.Intn(2) == 0 {
		member = leader
	}
	var some, others []*cluster.Unit
	for _, unit := range t.units() {
		if unit == node.Unit || unit == member {
			some = append(some, unit)
		} else {
			others = append(others, unit)
		}
	}
	return t.lose(between(some, others, true, true), 2*time.Second, 8*time.Second)
}

func (t *ofCluster) flap() error {
	leader := t.Leader()
	for i := 0; leader != nil && i < 6; i++ {
		err := t.lose(between([]*cluster.Unit{leader.Unit}, t.Members[:], true, true), 200*time.Millisecond, 1500*time.Millisecond)
		if err != nil {
			return err
		}
		t.pause(100*time.Millisecond, 800*time.Millisecond)
	}
	return nil
}
