// Package channels is the registry of channel adapters: a value that says
// which channels a program was built with and how to make their adapters.
//
// An adapter lives in three steps:
//
//	New    makes it from an account's settings; it reads and checks them, and
//	       connects nothing
//	Run    connects and receives, again after every failure
//	Close  gives back what New took, if the adapter is an io.Closer; it is
//	       called once, after the last Run and Send have returned
//
// The packages below are the shared text tree (text), what a channel's test
// server is (testserver), the contract suite that every adapter passes
// (channeltest), and one folder for each platform.
package channels

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
)

// Options is what an adapter is made of. The runtime fills it.
type Options struct {
	Account string // the account's id
	// Settings holds the account's keys as JSON, with the keys of its channel
	// under them, already validated and with secrets resolved. nil is {}.
	Settings json.RawMessage
	Clock    core.Clock
	// HTTP makes all requests of the adapter; it has no timeout of its own,
	// and belongs to the runtime.
	HTTP *http.Client
	Log  *slog.Logger
	// StateDir is a folder for files that only this account uses; it exists
	// only if the adapter creates it.
	StateDir string
}

// Decode reads the settings into v. Keys that v does not have are left alone:
// they are the runtime's.
func (o Options) Decode(v any) error {
	if len(o.Settings) == 0 {
		return nil
	}
	if err := json.Unmarshal(o.Settings, v); err != nil {
		return &core.Error{Code: "bad_settings", Text: "settings of account " + o.Account, Err: err}
	}
	return nil
}

// Entry is one channel.
type Entry struct {
	Name string // as in addresses and in the configuration
	// Describe says in one line what the channel is.
	Describe string
	// New makes the adapter of one account. It does not block on a network.
	New func(Options) (core.Adapter, error)
}

// Registry is a set of channels, by name. It is a value: With and Without
// return another one. The zero value is empty.
type Registry struct {
	entries map[string]Entry
}

// New returns a registry of entries.
func New(entries ...Entry) Registry { return Registry{}.With(entries...) }

// With returns r with entries added; one of the same name is replaced.
func (r Registry) With(entries ...Entry) Registry {
	next := Registry{entries: make(map[string]Entry, len(r.entries)+len(entries))}
	maps.Copy(next.entries, r.entries)
	for _, e := range entries {
		next.entries[e.Name] = e
	}
	return next
}

// Without returns r without the named channels.
func (r Registry) Without(names ...string) Registry {
	next := r.With()
	for _, name := range names {
		delete(next.entries, name)
	}
	return next
}

// Lookup returns the channel of that name.
func (r Registry) Lookup(name string) (Entry, bool) {
	e, ok := r.entries[name]
	return e, ok
}

// Names returns the names of all channels, sorted.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r.entries)) }

// Open makes the adapter of an account of the named channel. An unknown name
// is a *core.Error of code unknown_channel.
func (r Registry) Open(name string, o Options) (core.Adapter, error) {
	e, ok := r.entries[name]
	if !ok {
		return nil, core.Errorf("unknown_channel", "the channel %q is not in this build", name).
			WithRemedy("channels that are: %s", strings.Join(r.Names(), ", "))
	}
	return e.New(o)
}

// Close closes an adapter that needs it. The runtime calls it once, after the
// last Run and Send have returned.
func Close(a core.Adapter) error {
	if c, ok := a.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
