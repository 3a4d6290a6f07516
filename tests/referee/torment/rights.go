package torment

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// writeSecrets writes the files with which a server starts: the clients' token has all rights, and there is an admin.
func writeSecrets(folder string) error {
	if err := os.WriteFile(filepath.Join(folder, "admin-token"), []byte(adminToken+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "clients-token"), []byte(token+"\n"), 0o600); err != nil {
		return err
	}
	return writeTokens(folder, "lock *", token)
}

// secrets are the options that name these files.
func secrets(folder string) []string {
	return []string{"--tokens", filepath.Join(folder, "tokens"), "--admin-token-file", filepath.Join(folder, "admin-token")}
}

// writeTokens writes the file with the rights of the clients' token. It is replaced as a whole: a server may read it at any time.
func writeTokens(folder, rights, secret string) error {
	line := fmt.Sprintf("clients %s sha256:%x\n", rights, sha256.Sum256([]byte(secret)))
	file := filepath.Join(folder, "tokens")
	if err := os.WriteFile(file+".new", []byte(line), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// rights are what goes wrong with the clients' rights. `signal` sends a signal to every process that reads the file.
func (b *bench) rights(folder string, signal func(syscall.Signal)) []torment {
	with := func(rights, secret string) error { return b.withTokens(folder, signal, rights, secret) }
	some := []string{"read *", "lock nobody-uses-this", "lock * @http", "lock * @files,redis,dflockd", "lock n* semaphore:s* read *"}
	return []torment{
		{name: "rights are taken away and given back", do: func() error { return with(some[b.random.Intn(len(some))], token) }},
		{name: "the secret of the clients is changed and changed back",
			do: func() error { return with("lock *", "another-secret-of-a-run-of-the-referee") }},
	}
}

// withTokens: what is held stays, and nobody may do more than the file says.
func (b *bench) withTokens(folder string, signal func(syscall.Signal), rights, secret string) error {
	b.run.lacksRights.Store(true)
	if err := writeTokens(folder, rights, secret); err != nil {
		return err
	}
	signal(syscall.SIGHUP)
	b.pause(300*time.Millisecond, ttl+time.Second)
	if err := writeTokens(folder, "lock *", token); err != nil {
		return err
	}
	signal(syscall.SIGHUP)
	b.pause(time.Second, time.Second)
	b.pause(patience, patience) // requests that were under way have been answered
	b.run.lacksRights.Store(false)
	return nil
}
