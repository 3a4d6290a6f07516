package lockset

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast/tests/referee/process"
)

// servers are the processes of one system.
type servers struct {
	addresses []string
	processes []*process.Process
	// endSession ends what a system without TTLs has instead: the session of a client. nil: the system has TTLs.
	endSession func(client int)
}

func (s *servers) end() {
	for place := len(s.processes) - 1; place >= 0; place-- {
		s.processes[place].Kill()
	}
}

// add starts a program, and waits until it is ready.
func (s *servers) add(folder, name string, command *exec.Cmd, isReady func() bool) error {
	started, err := process.Start(command, filepath.Join(folder, name+".log"))
	if err != nil {
		return err
	}
	s.processes = append(s.processes, started)
	return started.Until(isReady)
}

// errMissing: a program is not installed.
type errMissing struct{ program, debianPackage string }

func (e errMissing) Error() string {
	return fmt.Sprintf("there is no %s here: apt-get install %s", e.program, e.debianPackage)
}

func programOf(name, debianPackage string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1], nil
	}
	return "", errMissing{name, debianPackage}
}

// start starts one server of a system in a folder that is empty, with its own default settings for the disk.
func start(system, holdfast, folder string) (*servers, error) {
	addresses, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	s := &servers{addresses: addresses[:1]}
	switch system {
	case "holdfast":
		err = s.startHoldfast(holdfast, folder)
	case "etcd":
		err = s.startEtcd(folder, addresses[1])
	case "redis":
		err = s.startRedis(folder)
	case "postgresql":
		err = s.startPostgres(folder)
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *servers) startHoldfast(program, folder string) error {
	command := exec.Command(program, "serve", "--data", filepath.Join(folder, "data"), "--http", s.addresses[0], "--dflockd", "none")
	return s.add(folder, "holdfast", command, func() bool { return isOK("http://" + s.addresses[0] + "/readyz") })
}

func (s *servers) startEtcd(folder, peer string) error {
	program, err := programOf("etcd", "etcd-server")
	if err != nil {
		return err
	}
	url, peerURL := "http://"+s.addresses[0], "http://"+peer
	command := exec.Command(program, "--name", "e", "--data-dir", filepath.Join(folder, "data"), "--listen-client-urls", url,
		"--advertise-client-urls", url, "--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL,
		"--initial-cluster", "e="+peerURL)
	return s.add(folder, "etcd", command, func() bool { return isOK(url + "/health") })
}

func (s *servers) startRedis(folder string) error {
	program, err := programOf("redis-server", "redis-server")
	if err != nil {
		return err
	}
	place := strings.LastIndex(s.addresses[0], ":")
	command := exec.Command(program, "--bind", s.addresses[0][:place], "--port", s.addresses[0][place+1:], "--dir", folder)
	return s.add(folder, "redis", command, func() bool {
		line, err := dialRedis(s.addresses[0])
		if err != nil {
			return false
		}
		defer line.connection.Close()
		_, err = line.do("PING")
		return err == nil
	})
}

func (s *servers) startPostgres(folder string) error {
	initdb, err := programOf("initdb", "postgresql")
	if err != nil {
		return err
	}
	program, err := programOf("postgres", "postgresql")
	if err != nil {
		return err
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	attributes, err := ownedByAnother(data)
	if err != nil {
		return err
	}
	made := exec.Command(initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync")
	made.Dir, made.SysProcAttr = "/", attributes
	if said, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, said)
	}
	place := strings.LastIndex(s.addresses[0], ":")
	command := exec.Command(program, "-D", data, "-h", s.addresses[0][:place], "-p", s.addresses[0][place+1:], "-k", data)
	command.Dir, command.SysProcAttr = "/", attributes
	s.endSession = func(client int) {
		if line, err := dialPostgres(s.addresses[0], "driver"); err == nil {
			_ = line.query(fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'client-%d'", client))
			_ = line.connection.Close()
		}
	}
	return s.add(folder, "postgresql", command, func() bool {
		line, err := dialPostgres(s.addresses[0], "driver")
		if err == nil {
			_ = line.connection.Close()
		}
		return err == nil
	})
}

// ownedByAnother gives a folder to the user postgres or nobody, if this is root: PostgreSQL refuses to run as root.
func ownedByAnother(folder string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		if owner, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	userID, _ := strconv.Atoi(owner.Uid)
	groupID, _ := strconv.Atoi(owner.Gid)
	for above := filepath.Dir(folder); above != os.TempDir() && above != "/"; above = filepath.Dir(above) {
		_ = os.Chmod(above, 0o755)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(userID), Gid: uint32(groupID)}},
		os.Chown(folder, userID, groupID)
}

func isOK(url string) bool {
	client := http.Client{Timeout: time.Second}
	response, err := client.Get(url)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
