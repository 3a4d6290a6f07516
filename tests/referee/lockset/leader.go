package lockset

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"holdfast/tests/referee/cluster"
)

// withoutService are the longest times without a grant after a kill -9 of the leader: the node that leads, or etcd's leader if the
// system is etcd.
func withoutService(settings Settings, system string) ([]time.Duration, error) {
	etcd, err := programOf("etcd", "etcd-server")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(settings.Folder, "cluster-")
	if err != nil {
		return nil, err
	}
	members, nodes, err := cluster.OnLoopback()
	if err != nil {
		return nil, err
	}
	c := cluster.New(cluster.Settings{Program: settings.Holdfast, Folder: folder, Members: members, Nodes: nodes}, etcd)
	defer c.End()
	if err := c.StartMembers(); err != nil {
		return nil, err
	}
	addresses := c.EtcdAddresses()
	leader := c.EtcdLeader
	if system == "holdfast" {
		if err := c.StartNodes(); err != nil {
			return nil, err
		}
		addresses = nil
		for _, node := range c.Nodes {
			addresses = append(addresses, node.HTTP)
		}
		leader = func() *cluster.Unit {
			if node := c.Leader(); node != nil {
				return node.Unit
			}
			return nil
		}
	}
	w, err := newWorldOf(settings, system, &servers{addresses: addresses}, 1<<30, false, calmWork)
	if err != nil {
		return nil, err
	}
	defer w.end()
	var gaps []time.Duration
	for len(gaps) < settings.Kills {
		time.Sleep(4 * time.Second)
		victim := leader()
		if victim == nil {
			return nil, fmt.Errorf("nobody leads")
		}
		killed := time.Now()
		if err := victim.End(syscall.SIGKILL); err != nil {
			return nil, err
		}
		time.Sleep(8 * time.Second)
		gap, err := longestGap(killed, w.storage.grantsSince(killed))
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, gap)
		if err := victim.Start(); err != nil {
			return nil, err
		}
	}
	return gaps, nil
}

func longestGap(from time.Time, grants []grant) (time.Duration, error) {
	if len(grants) == 0 {
		return 0, fmt.Errorf("no grant after the leader was killed")
	}
	longest := time.Duration(0)
	for _, one := range grants {
		if gap := one.at.Sub(from); gap > longest {
			longest = gap
		}
		from = one.at
	}
	return longest, nil
}
