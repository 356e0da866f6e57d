package convtest

import (
	"context"
	"net/http"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// App is the runtime under test; *app.App is one. It is started once. After a
// start that failed, Kill is called.
type App interface {
	Start(ctx context.Context) error
	// Stop ends it gracefully, Kill as a crash does. Both return when nothing
	// of it is left.
	Stop(ctx context.Context) error
	Kill()
	Reload(ctx context.Context, next *config.Config) (app.Reloaded, error)
	// API returns the API as on the unix socket.
	API() http.Handler
	// DB returns the store. Nil means that there is none; then the runtime
	// counts as idle whenever the world is quiet.
	DB() *store.DB
}

var _ App = (*app.App)(nil)

// Channel is a channel that scripts may use: its adapter and its test server.
type Channel struct {
	Entry  channels.Entry
	Server testserver.New
}

// CLIEnv is what a `$ skein ...` line runs in.
type CLIEnv struct {
	// Dir is the working directory of the script; relative paths start there.
	Dir string
	// Config is the configuration in force, with the harness's own keys.
	Config *config.Config
	// World holds the script's clock. It is never cut.
	World *world.World
	// App is the runtime, nil while it is down.
	App App
	// API is the runtime's API as on its unix socket, nil while it is down.
	API http.Handler
}

// busy reports whether a runtime has something to do now: a session that is
// ready for a turn, a turn, or a message that is due. What waits for a retry,
// a deadline, a person or a sub-agent lies ahead and does not count.
func busy(ctx context.Context, a App, now core.Millis) (busy bool, err error) {
	db := a.DB()
	if db == nil {
		return false, nil
	}
	err = db.Read(ctx, func(tx *store.Tx) error {
		ready, err := tx.ReadySessions(1)
		if err != nil {
			return err
		}
		load, err := tx.Load(now)
		if err != nil {
			return err
		}
		due := false
		if load.Due > 0 {
			due, err = dueOutbox(tx, now)
		}
		busy = len(ready) > 0 || load.Turns > 0 || due
		return err
	})
	return busy, err
}

// outboxPage is how many messages are read at once.
const outboxPage = 256

// dueOutbox reports whether a message is due and not held up by an earlier one
// of its place that waits for its next try.
func dueOutbox(tx *store.Tx, now core.Millis) (bool, error) {
	accounts, err := tx.OutboxOpen()
	if err != nil {
		return false, err
	}
	for _, a := range accounts {
		waiting := make(map[core.Address]bool)
		for after := int64(0); ; {
			page, err := tx.OpenOutbox(a[0], a[1], after, outboxPage)
			if err != nil {
				return false, err
			}
			for _, m := range page {
				after = m.ID
				to := m.Address
				to.Parent = ""
				switch {
				case m.NextAt > now:
					waiting[to] = true
				case !waiting[to] || m.Kind == store.OutCommand:
					return true, nil
				}
			}
			if len(page) < outboxPage {
				break
			}
		}
	}
	return false, nil
}

// resent reports whether the store sent a message to a place again because it
// could not know whether it had been sent.
func resent(ctx context.Context, a App, to core.Address) (resent bool, err error) {
	db := a.DB()
	if db == nil {
		return false, nil
	}
	err = db.Read(ctx, func(tx *store.Tx) error {
		rows, err := tx.ListOutbox("", outboxRecent)
		for _, m := range rows {
			resent = resent || m.Resent && m.Address.Same(to)
		}
		return err
	})
	return resent, err
}

// previews returns the ids of the messages at a place that are still being
// written.
func previews(ctx context.Context, a App, at core.Address) (ids []string, err error) {
	db := a.DB()
	if db == nil {
		return nil, nil
	}
	err = db.Read(ctx, func(tx *store.Tx) (err error) {
		ids, err = tx.StandingPreviews(at)
		return err
	})
	return ids, err
}

// outboxRecent is how many messages back a repetition is looked for.
const outboxRecent = 1000
