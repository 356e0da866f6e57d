package app_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// exchange is a channel, under the name of telegram, whose accounts a test can
// look at. An account whose apiRoot has "bad" in it is refused by its platform,
// one with "broken" cannot be opened, and one with "late" asks for a restart.
type exchange struct {
	work *world.Work

	mu     sync.Mutex
	events []string      // "open a", "close a", in order
	hold   chan struct{} // while it is not nil, sends wait for it
	sends  chan string   // texts whose send has begun
}

func (x *exchange) note(event string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, event)
}

// took returns what happened since it was asked last.
func (x *exchange) took() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.events
	x.events = nil
	return out
}

func (x *exchange) entry() channels.Entry {
	return channels.Entry{Name: "telegram", New: func(o channels.Options) (core.Adapter, error) {
		var settings struct{ APIRoot string }
		if err := o.Decode(&settings); err != nil {
			return nil, err
		}
		switch {
		case strings.Contains(settings.APIRoot, "broken"):
			return nil, core.Errorf("bad_settings", "no such root: %s", settings.APIRoot)
		case strings.Contains(settings.APIRoot, "late"):
			return nil, core.Errorf("channel_needs_restart", "it opens at the start")
		}
		x.note("open " + o.Account)
		return &extension{x: x, account: o.Account, bad: strings.Contains(settings.APIRoot, "bad")}, nil
	}}
}

// extension is one account of an exchange.
type extension struct {
	x       *exchange
	account string
	bad     bool
}

func (e *extension) Describe() core.Capabilities { return core.Capabilities{} }

func (e *extension) Run(ctx context.Context, _ core.Intake) error {
	if e.bad {
		return &core.SendError{Class: core.SendAuth, Err: errors.New("the token is refused")}
	}
	<-ctx.Done()
	return nil
}

func (e *extension) Send(ctx context.Context, out core.Outgoing) (core.Receipt, error) {
	e.x.mu.Lock()
	hold, sends := e.x.hold, e.x.sends
	e.x.mu.Unlock()
	if hold != nil {
		sends <- out.Text
		select {
		case <-hold:
		case <-ctx.Done():
			return core.Receipt{}, ctx.Err()
		}
	}
	e.x.note("send " + e.account + " " + out.Text)
	return core.Receipt{ID: out.Key}, nil
}

func (e *extension) Probe(context.Context) core.Health {
	if e.bad {
		return core.Health{Detail: "the token is refused"}
	}
	return core.Health{OK: true}
}

func (e *extension) Close() error {
	e.x.note("close " + e.account)
	return nil
}

const twoBots = `{ channels: { telegram: { accounts: { a: { token: "x", apiRoot: "http://a" }, b: { token: "y", apiRoot: "http://b" } } } } }`

// newExchange starts a runtime with the console and accounts of an exchange.
func newExchange(t *testing.T, settings string) (*scene, *exchange) {
	t.Helper()
	x := &exchange{sends: make(chan string, 10)}
	s := prepareScene(t, settings, "")
	x.work = s.work
	s.options = func(o *app.Options) { o.Channels = o.Channels.With(x.entry()) }
	s.start()
	return s, x
}

// reloads puts settings in force and returns what that did.
func (s *scene) reloads(settings string) app.Reloaded {
	s.Helper()
	s.configure(settings)
	done, err := s.app.Reload(s.Context(), s.config())
	require.NoError(s, err)
	return done
}

// results are the accounts of a reload, in words.
func results(done app.Reloaded) (out []string) {
	for _, x := range done.Accounts {
		out = append(out, strings.TrimSpace(x.Channel+":"+x.Account+" "+string(x.Result)+" "+x.Error))
	}
	return out
}

// TestReloadRestartsWhatChanged: an account is added, changed and removed at run
// time, and the others are not touched.
func TestReloadRestartsWhatChanged(t *testing.T) {
	t.Parallel()
	s, x := newExchange(t, twoBots)
	require.Equal(t, []string{"open a", "open b"}, x.took())
	for _, tt := range []struct {
		name, settings string
		results        []string
		events         []string
	}{
		{"a live key", strings.Replace(twoBots, `"http://a"`, `"http://a", dmPolicy: "open"`, 1),
			[]string{"console:default unchanged", "telegram:a unchanged", "telegram:b unchanged"}, nil},
		{"changed", strings.Replace(twoBots, "http://a", "http://a2", 1),
			[]string{"console:default unchanged", "telegram:a applied", "telegram:b unchanged"}, []string{"close a", "open a"}},
		{"added", strings.Replace(twoBots, "accounts: {", `accounts: { c: { token: "z" }, `, 1),
			[]string{"console:default unchanged", "telegram:a applied", "telegram:b unchanged", "telegram:c applied"}, []string{"close a", "open a", "open c"}},
		{"removed", twoBots,
			[]string{"console:default unchanged", "telegram:a unchanged", "telegram:b unchanged", "telegram:c applied"}, []string{"close c"}},
		{"switched off", strings.Replace(twoBots, `"http://b"`, `"http://b", enabled: false`, 1),
			[]string{"console:default unchanged", "telegram:a unchanged", "telegram:b applied"}, []string{"close b"}},
		{"the channel removed", "", []string{"console:default unchanged", "telegram:a applied"}, []string{"close a"}},
		{"the channel added", twoBots,
			[]string{"console:default unchanged", "telegram:a applied", "telegram:b applied"}, []string{"open a", "open b"}},
	} {
		done := s.reloads(tt.settings)
		require.Equal(t, tt.results, results(done), tt.name)
		require.Equal(t, tt.events, x.took(), tt.name)
	}
	for _, a := range s.app.Accounts() {
		require.Equal(t, app.AccountRunning, a.State, a.Account)
	}
}

// TestB355_ReloadTellsOfEachAccount: of two accounts one gets a value that its
// platform refuses; the result lists both, and only that one is not healthy.
func TestB355_ReloadTellsOfEachAccount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ root, result string }{
		{"http://bad", "telegram:a failed the token is refused"},
		{"http://broken", "telegram:a failed no such root: http://broken"},
		{"http://late", "telegram:a needs restart it opens at the start"},
	} {
		s, _ := newExchange(t, twoBots)
		done := s.reloads(strings.Replace(twoBots, "http://a", tt.root, 1))
		require.Equal(t, []string{"console:default unchanged", tt.result, "telegram:b unchanged"}, results(done))
		require.Contains(t, done.String(), tt.result[:len("telegram:a failed")], "the printed plan says it")

		var status app.StatusView
		require.Eventually(t, func() bool {
			require.Equal(t, 200, call(t, s.app.API(), "GET", "/status", "", &status))
			return status.Channels[0].Account == "a" && status.Channels[0].State == app.AccountStopped
		}, 5*time.Second, time.Millisecond)
		require.NotEmpty(t, status.Channels[0].LastError)
		require.Equal(t, done.Accounts[1].Result, status.Channels[0].Reload)
		require.Equal(t, app.AccountRunning, status.Channels[1].State)
		require.Equal(t, app.ReloadUnchanged, status.Channels[1].Reload)

		done = s.reloads(twoBots)
		require.Equal(t, []string{"console:default unchanged", "telegram:a applied", "telegram:b unchanged"}, results(done), "it is mended")
		status = app.StatusView{}
		require.Equal(t, 200, call(t, s.app.API(), "GET", "/status", "", &status))
		require.Equal(t, app.AccountRunning, status.Channels[0].State)
		require.Empty(t, status.Channels[0].LastError)
		s.kill()
	}
}

// TestReloadTriesStoppedAccountsAgain: what made it stop may be mended
// elsewhere.
func TestReloadTriesStoppedAccountsAgain(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(twoBots, "http://a", "http://bad", 1)
	s, x := newExchange(t, bad)
	x.took()
	require.Eventually(t, func() bool { return s.app.Accounts()[0].State == app.AccountStopped }, 5*time.Second, time.Millisecond)
	done := s.reloads(bad)
	require.Empty(t, done.Plan)
	require.Equal(t, []string{"close a", "open a"}, x.took())
	require.Equal(t, "telegram:a failed the token is refused", results(done)[1])
}

// TestReloadFinishesDeliveries: what an account is sending is sent once, before
// it closes; what waits behind it is sent by its successor.
func TestReloadFinishesDeliveries(t *testing.T) {
	t.Parallel()
	s, x := newExchange(t, twoBots)
	hold := make(chan struct{})
	x.mu.Lock()
	x.hold = hold
	x.mu.Unlock()
	at := core.Address{Channel: "telegram", Account: "a", Conversation: "7"}
	post := func(text string) {
		require.NoError(t, s.app.DB().Write(t.Context(), func(tx *store.Tx) error {
			_, _, err := s.app.Delivery().Post(tx, store.Outbox{OnceKey: text, Address: at, Kind: store.OutNotice, Text: text})
			return err
		}))
	}
	post("first")
	require.Equal(t, "first", <-x.sends)
	post("second")
	s.configure(strings.Replace(twoBots, "http://a", "http://a2", 1))
	next, reloaded := s.config(), make(chan error, 1)
	x.took()
	go func() {
		_, err := s.app.Reload(t.Context(), next)
		reloaded <- err
	}()
	require.Eventually(t, func() bool { return s.app.Accounts()[0].Account == "b" }, 5*time.Second, time.Millisecond, "it has left")
	require.Empty(t, x.took(), "it is not closed while it sends")
	x.mu.Lock()
	x.hold = nil
	x.mu.Unlock()
	close(hold)
	require.NoError(t, <-reloaded)
	s.quiet()
	require.Equal(t, []string{"send a first", "close a", "open a", "send a second"}, x.took())
}

// TestReloadHoldsWhatNeedsARestart: the rest is applied, and what waits is named
// until it is gone.
func TestReloadHoldsWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	s, _ := newExchange(t, twoBots)
	settings := `{ logging: { format: "json" }, agents: { entries: { main: { instructions: "You help a lot." } } } }`
	done := s.reloads(settings)
	require.Len(t, done.Pending, 1)
	require.Equal(t, "logging.format", done.Pending[0].Path)
	require.Equal(t, config.ClassRestart, done.Pending[0].Class)
	require.Contains(t, done.String(), "restart the gateway to apply: logging.format\n")
	s.say("team", "hello")
	s.quiet()
	require.Contains(t, s.last("").System, "You help a lot.", "the next turn uses it")
	require.Len(t, s.reloads(settings).Pending, 1, "it still waits")
	require.Empty(t, s.reloads(`{}`).Pending)
}

// TestReloadEndsBindingsOfARemovedAccount: as a start does.
func TestReloadEndsBindingsOfARemovedAccount(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", `{when: {lastTool: "sessions_spawn"}, say: "sent"},
  {when: {user: "/^send$/"}, call: [{tool: "sessions_spawn", args: {task: "look", label: "cats", thread: true}}]},`)
	s.say("team", "send")
	s.pass(time.Minute)
	live := func() (live []core.Binding) {
		s.read(func(tx *store.Tx) (err error) {
			live, err = tx.BindingsOfAccount("console", "default", 10)
			return err
		})
		return live
	}
	require.Len(t, live(), 1)
	next := s.config()
	accounts := next.Channels.Console.Accounts
	next.Channels.Console.Accounts = map[string]config.ConsoleAccount{"another": accounts["default"]}
	_, err := s.app.Reload(t.Context(), next)
	require.NoError(t, err)
	s.quiet()
	require.Empty(t, live())
}

// TestReloadIsRefusedOnceStopped: and a stop waits for a reload in progress.
func TestReloadIsRefusedOnceStopped(t *testing.T) {
	t.Parallel()
	s, _ := newExchange(t, twoBots)
	a, next := s.app, s.config()
	s.stop()
	_, err := a.Reload(t.Context(), next)
	require.Equal(t, "reload_unavailable", core.ErrorCode(err))
}

// TestB339_B341_AFileThatIsNotValidChangesNothing: the gateway goes on with what
// it has, names the place and the nearest key, and says so until it is mended.
func TestB339_B341_AFileThatIsNotValidChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"{\n  agents: { defaults: { maxStep: 5, model: 'demo/other' } } }", "skein.json5:2:25: agents.defaults.maxStep: unknown key (did you mean maxSteps?)"},
		{`{ channels: { console: { name: "${NOPE}" } } }`, "the environment variable NOPE is not set"},
		{`{ models: { providers: { demo: { type: "openai", apiKey: "${NOPE}" } } } }`, "the environment variable NOPE is not set"},
		{`{ agents: `, "skein.json5:1:"},
	} {
		s := prepareScene(t, "", "")
		file := filepath.Join(s.dir, "skein.json5")
		mended := false
		s.options = func(o *app.Options) {
			o.LoadConfig = func() (*config.Config, error) {
				if mended {
					return s.config(), nil
				}
				cfg, _, err := config.Load(file, config.Options{Env: func(string) (string, bool) { return "", false }})
				if err == nil {
					err = cfg.ResolveSecrets(config.Options{Env: func(string) (string, bool) { return "", false }})
				}
				return cfg, err
			}
		}
		s.start()
		s.write("skein.json5", tt.text)
		before := s.app.Config()
		_, err := s.app.ReloadFile(t.Context())
		require.Equal(t, "config_invalid", core.ErrorCode(err))
		require.ErrorContains(t, err, tt.want)
		require.Same(t, before, s.app.Config(), "the one before stays in force")
		s.say("team", "hello")
		require.Equal(t, "m", s.last("").Model)
		var status app.StatusView
		require.Equal(t, 200, call(t, s.app.API(), "GET", "/status", "", &status))
		require.Contains(t, status.ConfigError, tt.want)

		mended = true
		_, err = s.app.ReloadFile(t.Context())
		require.NoError(t, err)
		status = app.StatusView{}
		require.Equal(t, 200, call(t, s.app.API(), "GET", "/status", "", &status))
		require.Empty(t, status.ConfigError)
		s.kill()
	}
}
