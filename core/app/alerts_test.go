package app_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
)

// toldOf starts a scene whose operator reads "main".
func toldOf(t *testing.T, settings, rules string) *scene {
	t.Helper()
	s := prepareScene(t, settings, rules)
	require.NoError(t, s.server.SetPlace(at("main"), testserver.KindGroup))
	x := &exchange{work: s.work}
	s.options = func(o *app.Options) { o.Channels = o.Channels.With(x.entry()) }
	return s
}

// alerts returns what the bot said of trouble in a place.
func (s *scene) alerts(place string) (out []string) {
	for _, text := range s.told(place) {
		if strings.HasPrefix(text, "Alert: ") {
			out = append(out, text)
		}
	}
	return out
}

// doctor asks the runtime what is wrong.
func (s *scene) doctor() (d app.DoctorView) {
	s.Helper()
	require.Equal(s, http.StatusOK, call(s.T, s.app.API(), http.MethodGet, "/doctor", "", &d))
	return d
}

// findings are the codes of what the doctor found, with what they are about.
func findings(d app.DoctorView) (out []string) {
	for _, f := range d.Findings {
		out = append(out, string(f.Level)+" "+f.Code+" "+f.Subject)
	}
	return out
}

const alertsToMain = `{ alerts: { to: "console:default:main" },
  channels: { telegram: { accounts: { a: { token: "x", apiRoot: "http://bad" }, b: { token: "y", apiRoot: "http://b" } } } } }`

// TestAStoppedAccountIsAnAlert: the operator is told once, whatever happens
// within the cool-down, and the doctor says so until it runs again.
func TestAStoppedAccountIsAnAlert(t *testing.T) {
	t.Parallel()
	s := toldOf(t, alertsToMain, "")
	s.start()
	s.stopped(1)
	require.Equal(t, []string{"Alert: the account telegram:a has stopped: auth: the token is refused. " +
		"Correct its credentials, or end the other program that uses them; it starts again when the gateway reads its configuration anew."}, s.alerts("main"))
	d := s.doctor()
	require.False(t, d.OK)
	require.Equal(t, []string{"problem account_stopped telegram:a"}, findings(d))
	require.Len(t, d.Alerts, 1)
	require.NotZero(t, d.Alerts[0].ToldAt)

	s.reloads(alertsToMain) // it is tried again and stops again
	s.stopped(2)
	s.crash(10 * time.Minute)
	s.stopped(3)
	require.Len(t, s.alerts("main"), 1, "within the cool-down, over a crash too")
	s.crash(time.Hour)
	s.stopped(4)
	require.Len(t, s.alerts("main"), 2)

	s.reloads(strings.Replace(alertsToMain, "http://bad", "http://a", 1))
	d = s.doctor()
	require.True(t, d.OK, findings(d))
	require.Equal(t, 4, d.Alerts[0].Times, "what was is still listed")
	s.pass(8 * 24 * time.Hour)
	require.Empty(t, s.doctor().Alerts)
}

// stopped waits until account telegram:a has stopped so many times.
func (s *scene) stopped(times int) {
	s.Helper()
	require.Eventually(s, func() bool {
		d := s.doctor()
		return len(d.Alerts) == 1 && d.Alerts[0].Times == times
	}, waitFor, tick)
	s.quiet()
}

// TestABlockedCompletionIsAnAlert: it is written in the transaction that gives
// the message up, so that no crash lies between.
func TestABlockedCompletionIsAnAlert(t *testing.T) {
	t.Parallel()
	s := toldOf(t, alertsToMain, `
  {when: {user: "/^go$/"}, call: [{tool: "sessions_spawn", args: {task: "dig", label: "dig"}}]},
  {when: {lastTool: "sessions_spawn"}, say: "started"},
  {when: {task: "/dig/"}, delay: "10s", say: "a bone"},
  {when: {event: "/bone/"}, say: "It found a bone."},`)
	s.start()
	s.say("team", "go")
	s.outage.Store(true)
	s.pass(50 * time.Minute)
	s.outage.Store(false)
	run := s.run("dig")
	d := s.doctor()
	require.Contains(t, findings(d), "problem completion_blocked "+run.TaskID)
	require.Contains(t, findings(d), "problem outbox_blocked console:default")
	require.Contains(t, kinds(d), "completion_blocked console:default")
	s.pass(time.Hour)
	require.Contains(t, strings.Join(s.alerts("main"), "\n"), "nobody could be told the outcome of task "+run.TaskID)
}

func kinds(d app.DoctorView) (out []string) {
	for _, a := range d.Alerts {
		out = append(out, a.Kind+" "+a.Subject)
	}
	return out
}

// TestAFullDiskIsAnAlert: the disk is looked at every five minutes.
func TestAFullDiskIsAnAlert(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	free.Store(100 << 30)
	s := toldOf(t, `{ alerts: { to: "console:default:main", cooldownMinutes: 30 } }`, "")
	s.options = func(o *app.Options) {
		o.Disk = func(string) (app.Disk, error) { return app.Disk{Free: free.Load(), Total: 200 << 30}, nil }
	}
	s.start()
	s.pass(time.Hour)
	require.Empty(t, s.alerts("main"))
	require.True(t, s.doctor().OK)
	free.Store(1 << 30)
	s.pass(5 * time.Minute)
	require.Len(t, s.alerts("main"), 1)
	require.Contains(t, s.alerts("main")[0], "is nearly full: 1.0 GiB of 200 GiB are free")
	require.Equal(t, []string{"problem disk_nearly_full "}, findings(s.doctor()))
	s.pass(29 * time.Minute)
	require.Len(t, s.alerts("main"), 1)
	s.pass(5 * time.Minute)
	require.Len(t, s.alerts("main"), 2)
	free.Store(50 << 30)
	s.pass(time.Hour)
	require.Len(t, s.alerts("main"), 2)
	require.True(t, s.doctor().OK)
}

// TestAlertsWithoutAnAddress: they are listed and sent to nobody.
func TestAlertsWithoutAnAddress(t *testing.T) {
	t.Parallel()
	s, _ := newExchange(t, strings.Replace(alertsToMain, "console:default:main", "", 1))
	s.stopped(1)
	require.Empty(t, s.told("main"))
	d := s.doctor()
	require.Equal(t, []string{"account_stopped telegram:a"}, kinds(d))
	require.Zero(t, d.Alerts[0].ToldAt)
	s.read(func(tx *store.Tx) error {
		unsent, err := tx.Unsent()
		require.Empty(t, unsent)
		return err
	})
}

// TestADoctorFindsMessagesWithoutAnAccount: what waits for an account that is
// not configured any more stays, and is not silent.
func TestADoctorFindsMessagesWithoutAnAccount(t *testing.T) {
	t.Parallel()
	s, x := newExchange(t, twoBots)
	x.mu.Lock()
	x.hold = make(chan struct{})
	x.mu.Unlock()
	require.Equal(t, http.StatusOK, call(t, s.app.API(), http.MethodPost, "/send", `{"to": "telegram:a:1", "message": "hello"}`, nil))
	<-x.sends
	s.kill()
	s.configure("{}")
	s.start()
	require.Equal(t, []string{"problem outbox_homeless telegram:a"}, findings(s.doctor()))
}
