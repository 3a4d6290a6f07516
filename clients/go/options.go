package holdfast

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	defaultServer   = "http://127.0.0.1:8080"
	defaultTimeout  = 10 * time.Second
	defaultRetryFor = 10 * time.Second
	tokenBytesMax   = 4096
)

// Options configures a [Client]. The zero value is good: everything is taken from the environment, or
// has a default.
type Options struct {
	// Servers are addresses of the same server; the next one is asked when one does not answer. An
	// address is https://host:port, http://host:port, host:port or unix:/run/holdfast.sock. An
	// element may also be several addresses, separated by commas.
	// Default: HOLDFAST_SERVER, or http://127.0.0.1:8080.
	Servers []string
	// Token is the secret that the server wants. Default: HOLDFAST_TOKEN.
	Token string
	// TokenFile has the secret in its first line. The file is read again when the server refuses the
	// secret. Default: HOLDFAST_TOKEN_FILE, if there is no token.
	TokenFile string
	// CAFile has the certificate authorities that are trusted, in PEM form. Default:
	// HOLDFAST_CA_FILE, or those of the system.
	CAFile string
	// Timeout is for one answer, beyond the time that the server was asked to wait. Default: 10 s.
	Timeout time.Duration
	// RetryFor is how long a request without an answer is repeated. Default: 10 s. Negative: not at
	// all.
	RetryFor time.Duration
	// Owner names this client to others. Default: the host, the process and a random number.
	Owner string
}

// String does not show the token.
func (o Options) String() string {
	return "holdfast.Options(" + strings.Join(o.Servers, ",") + ")"
}

// Format prints String, whatever the verb.
func (o Options) Format(state fmt.State, _ rune) { fmt.Fprint(state, o.String()) }

// withDefaults fills what is not given.
func (o Options) withDefaults() Options {
	o.Servers = splitByCommas(o.Servers)
	if len(o.Servers) == 0 {
		o.Servers = splitByCommas([]string{os.Getenv("HOLDFAST_SERVER")})
	}
	if len(o.Servers) == 0 {
		o.Servers = []string{defaultServer}
	}
	if o.Token == "" && o.TokenFile == "" {
		o.Token = os.Getenv("HOLDFAST_TOKEN")
	}
	if o.Token == "" && o.TokenFile == "" {
		o.TokenFile = os.Getenv("HOLDFAST_TOKEN_FILE")
	}
	if o.CAFile == "" {
		o.CAFile = os.Getenv("HOLDFAST_CA_FILE")
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.RetryFor == 0 {
		o.RetryFor = defaultRetryFor
	}
	if o.Owner == "" {
		o.Owner = newOwner()
	}
	return o
}

func splitByCommas(texts []string) []string {
	var parts []string
	for _, text := range texts {
		for _, part := range strings.Split(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// readTokenFile is the first line of the file that is not blank, without the blanks around it.
func readTokenFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", invalid("cannot read the server's token: " + err.Error())
	}
	defer file.Close()
	beginning := make([]byte, tokenBytesMax+2)
	size, _ := file.Read(beginning)
	line, _, _ := strings.Cut(strings.TrimSpace(string(beginning[:size])), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", invalid("there is no token in " + path)
	}
	return line, requireToken(line)
}

// requireToken refuses what cannot be sent as a token. The message does not show it.
func requireToken(token string) error {
	for _, char := range []byte(token) {
		if char < ' ' || char > '~' {
			return invalid("the server's token has characters that are not printable ASCII")
		}
	}
	if len(token) > tokenBytesMax {
		return invalid("the server's token is too long")
	}
	return nil
}
