package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// silent is an adapter that does nothing.
type silent struct {
	name   string
	closed error
}

func (s *silent) Describe() core.Capabilities                  { return core.Capabilities{} }
func (s *silent) Run(ctx context.Context, _ core.Intake) error { <-ctx.Done(); return nil }
func (s *silent) Send(context.Context, core.Outgoing) (core.Receipt, error) {
	return core.Receipt{}, nil
}
func (s *silent) Probe(context.Context) core.Health { return core.Health{OK: true} }

// closing is an adapter with something to close.
type closing struct{ silent }

func (c *closing) Close() error { return c.closed }

func entry(name string) Entry {
	return Entry{Name: name, New: func(Options) (core.Adapter, error) { return &silent{name: name}, nil }}
}

func TestRegistryIsAValue(t *testing.T) {
	base := New(entry("b"), entry("a"))
	more := base.With(entry("c"))
	less := more.Without("a", "nothing")

	require.Equal(t, []string{"a", "b"}, base.Names())
	require.Equal(t, []string{"a", "b", "c"}, more.Names())
	require.Equal(t, []string{"b", "c"}, less.Names())
	require.Empty(t, Registry{}.Names())

	_, ok := less.Lookup("a")
	require.False(t, ok)
	e, ok := more.Lookup("c")
	require.True(t, ok)
	require.Equal(t, "c", e.Name)
}

func TestWithReplaces(t *testing.T) {
	other := entry("a")
	other.Describe = "another"
	e, ok := New(entry("a")).With(other).Lookup("a")
	require.True(t, ok)
	require.Equal(t, "another", e.Describe)
}

func TestOpenUnknown(t *testing.T) {
	_, err := New(entry("console"), entry("webchat")).Open("telegram", Options{})
	require.Equal(t, "unknown_channel", core.ErrorCode(err))
	require.ErrorContains(t, err, "console, webchat")
}

func TestDecode(t *testing.T) {
	var settings struct{ APIRoot string }
	require.NoError(t, Options{}.Decode(&settings))
	require.NoError(t, Options{Settings: json.RawMessage(`{"apiRoot":"http://h","dmPolicy":"open"}`)}.Decode(&settings))
	require.Equal(t, "http://h", settings.APIRoot)

	err := Options{Account: "second", Settings: json.RawMessage(`{"apiRoot":1}`)}.Decode(&settings)
	require.Equal(t, "bad_settings", core.ErrorCode(err))
	require.ErrorContains(t, err, "second")
}

func TestClose(t *testing.T) {
	require.NoError(t, Close(&silent{}))
	broken := errors.New("broken")
	require.ErrorIs(t, Close(&closing{silent{closed: broken}}), broken)
}

func ExampleRegistry() {
	registry := New(Entry{
		Name: "silent", Describe: "says nothing",
		New: func(o Options) (core.Adapter, error) { return &silent{name: o.Account}, nil },
	})
	adapter, err := registry.Open("silent", Options{Account: "default"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Names(), adapter.Probe(context.Background()).OK)
	// Output: [silent] true
}
