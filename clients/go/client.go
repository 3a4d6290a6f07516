package holdfast

import (
	"fmt"
	"strings"
)

// Version is that of Holdfast as a whole.
const Version = "0.2.0"

// Client asks for locks of one server. Any number of goroutines may use it at the same time.
type Client struct {
	options  Options // the token in it is empty; the exchange has it
	exchange *exchange
	now      func() instant // the clock of the leases
}

// New makes a client. It does not connect yet. The error is an [ErrBadRequest] that names what is
// wrong with the options.
func New(options Options) (*Client, error) {
	options = options.withDefaults()
	if err := requireUTF8(options.Owner); err != nil {
		return nil, err
	}
	exchange, err := newExchange(options)
	if err != nil {
		return nil, err
	}
	options.Token = ""
	return &Client{options: options, exchange: exchange, now: bootTime}, nil
}

// Close closes the connections that are not in use. The leases of the client go on.
func (c *Client) Close() {
	for _, address := range c.exchange.addresses {
		address.transport.CloseIdleConnections()
	}
}

// Owner is the name by which others see this client.
func (c *Client) Owner() string { return c.options.Owner }

// String never shows a secret.
func (c *Client) String() string {
	return "holdfast.Client(" + strings.Join(c.options.Servers, ",") + ")"
}

// Format prints String, whatever the verb.
func (c *Client) Format(state fmt.State, _ rune) { fmt.Fprint(state, c.String()) }

// patience is for a request that may be repeated.
func (c *Client) patience() patience { return patience{retryFor: c.options.RetryFor} }
