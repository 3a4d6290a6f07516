package cluster

// What an operator, or another program, does to the etcd of a cluster: through the JSON that every member speaks.

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	filler      = "/another-program/"
	fillerBytes = 1_000_000
)

// ask sends a request to the first member that answers.
func (c *Cluster) ask(path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for _, address := range c.clients {
		if err = c.AskEtcd(address, path, string(text), answer); err == nil || strings.Contains(err.Error(), "space exceeded") {
			return err
		}
	}
	return err
}

type object = map[string]any

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// EtcdVersion is such as "3.5.16".
func (c *Cluster) EtcdVersion() string {
	var version struct {
		Etcdserver string `json:"etcdserver"`
	}
	_ = c.get("http://"+c.clients[0]+"/version", &version)
	return version.Etcdserver
}

// leadersKey is the key of the node that was elected, which may not lead yet. Nothing if there is none.
func (c *Cluster) leadersKey() (node, lease string) {
	var found struct {
		Kvs []struct{ Value, Lease string }
	}
	if c.ask("/v3/kv/range", object{"key": encoded("holdfast/leader")}, &found) != nil || len(found.Kvs) == 0 {
		return "", ""
	}
	var value struct {
		Node string `json:"node"`
	}
	text, _ := base64.StdEncoding.DecodeString(found.Kvs[0].Value)
	_ = json.Unmarshal(text, &value)
	return value.Node, found.Kvs[0].Lease
}

// Elected is the node that etcd has elected, which may not lead yet; nil: none.
func (c *Cluster) Elected() *Node {
	name, _ := c.leadersKey()
	for _, node := range c.Nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// RevokeLease ends the lease of the leader, which lives.
func (c *Cluster) RevokeLease() error {
	_, lease := c.leadersKey()
	if lease == "" {
		return nil
	}
	var answer object
	return c.ask("/v3/lease/revoke", object{"ID": lease}, &answer)
}

// Fill writes until etcd has no more space.
func (c *Cluster) Fill() error {
	value := encoded(strings.Repeat("x", fillerBytes))
	failures := 0
	for number := 0; number < 1000; number++ {
		var answer object
		err := c.ask("/v3/kv/put", object{"key": encoded(fmt.Sprint(filler, number)), "value": value}, &answer)
		if err != nil && strings.Contains(err.Error(), "space exceeded") {
			return nil
		}
		if err != nil {
			if failures++; failures > 20 {
				return err
			}
		}
	}
	return errors.New("etcd takes everything: it has no quota")
}

// Free is what an operator does then: remove, compact, defragment every member, and take the alarm back.
func (c *Cluster) Free() error {
	var removed struct{ Header struct{ Revision string } }
	after := filler[:len(filler)-1] + string(filler[len(filler)-1]+1)
	if err := c.again(func() error {
		return c.ask("/v3/kv/deleterange", object{"key": encoded(filler), "range_end": encoded(after)}, &removed)
	}); err != nil {
		return err
	}
	var answer object
	_ = c.ask("/v3/kv/compaction", object{"revision": removed.Header.Revision, "physical": true}, &answer) // or the leader did it
	for _, address := range c.clients {
		address := address
		if err := c.again(func() error { return c.AskEtcd(address, "/v3/maintenance/defragment", "{}", &answer) }); err != nil {
			return err
		}
	}
	var alarms struct{ Alarms []object }
	if err := c.again(func() error { return c.ask("/v3/maintenance/alarm", object{"action": "GET"}, &alarms) }); err != nil {
		return err
	}
	for _, alarm := range alarms.Alarms {
		alarm["action"] = "DEACTIVATE"
		if err := c.again(func() error { return c.ask("/v3/maintenance/alarm", alarm, &answer) }); err != nil {
			return err
		}
	}
	return nil
}

// Compact drops all revisions but the newest.
func (c *Cluster) Compact() error {
	var found struct{ Header struct{ Revision string } }
	if err := c.ask("/v3/kv/range", object{"key": encoded("holdfast/leader")}, &found); err != nil {
		return err
	}
	var answer object
	_ = c.ask("/v3/kv/compaction", object{"revision": found.Header.Revision, "physical": true}, &answer) // or the leader was faster
	return nil
}

// again asks until it works, for half a minute: etcd may be without a leader, and refuses changes of its members for a while.
func (c *Cluster) again(ask func() error) error {
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err = ask(); err == nil {
			return nil
		}
	}
	return err
}

// Replace kills a member whose disk is lost, and adds a new one in its place.
func (c *Cluster) Replace(place int) error {
	member := c.Members[place]
	if err := member.End(syscall.SIGKILL); err != nil {
		return err
	}
	var listed struct {
		Members []struct{ ID, Name string }
	}
	if err := c.again(func() error { return c.ask("/v3/cluster/member/list", object{}, &listed) }); err != nil {
		return err
	}
	var answer object
	for _, one := range listed.Members {
		if one.Name != member.Name {
			continue
		}
		id := one.ID
		if err := c.again(func() error { return c.ask("/v3/cluster/member/remove", object{"ID": id}, &answer) }); err != nil {
			return err
		}
	}
	if err := c.again(func() error {
		return c.ask("/v3/cluster/member/add", object{"peerURLs": []string{"http://" + member.place.address(1)}}, &answer)
	}); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(c.folder, member.Name)); err != nil {
		return err
	}
	member.command = append(member.command, "--initial-cluster-state", "existing")
	if err := member.Start(); err != nil {
		return err
	}
	return c.untilHealthy(place)
}

// untilHealthy returns when the member answers from what all members agreed on.
func (c *Cluster) untilHealthy(place int) error {
	var answer object
	return c.again(func() error {
		return c.AskEtcd(c.clients[place], "/v3/kv/range", `{"key":"`+encoded("holdfast/leader")+`"}`, &answer)
	})
}

// post sends a request to the HTTP door of a node.
func (c *Cluster) post(node *Node, path string) (int, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+node.HTTP+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	slow := c.web
	slow.Timeout = 10 * time.Second
	response, err := slow.Do(request)
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// Resign asks the leader to hand over.
func (c *Cluster) Resign(node *Node) (int, error) {
	return c.post(node, "/v1/cluster/resign")
}

// NewEpoch asks for larger fencing numbers, as after a restore.
func (c *Cluster) NewEpoch(node *Node) (int, error) {
	return c.post(node, "/v1/cluster/new-epoch")
}

// Epoch of the cluster, as a node says; 0: it does not say.
func (c *Cluster) Epoch(node *Node) int64 {
	epoch, _ := c.look(node).Epoch.Int64()
	return epoch
}
