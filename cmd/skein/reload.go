package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/watch"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// reloading puts the configuration in force anew when one of its files changes,
// and on SIGHUP. One that cannot be used changes nothing, and is told of once.
type reloading struct {
	g    *gateway
	opts config.Options
	log  *slog.Logger

	mu      sync.Mutex
	refused string // what was told last of a configuration that is not in force

	watcher *watch.Watcher // nil where files cannot be watched
	hangUp  chan os.Signal
	quit    chan struct{}
	done    sync.WaitGroup
}

// startReloading watches the files of the gateway's configuration.
func startReloading(g *gateway, opts config.Options, log *slog.Logger) *reloading {
	r := &reloading{g: g, opts: opts, log: log, hangUp: make(chan os.Signal, 1), quit: make(chan struct{})}
	w, err := watch.Start(watch.Options{
		Files: g.app.Config().Watched(), Clock: g.env.clock, Log: log, Changed: func() { r.reload(false) },
	})
	if err != nil {
		log.Warn("the configuration is read again only when asked: kill -HUP, or POST /reload", "error", err)
	}
	r.mu.Lock()
	r.watcher = w
	r.mu.Unlock()
	signal.Notify(r.hangUp, syscall.SIGHUP)
	r.done.Go(func() {
		for {
			select {
			case <-r.hangUp:
				r.reload(true)
			case <-r.quit:
				return
			}
		}
	})
	return r
}

// stop ends the watching and waits for a reload in progress.
func (r *reloading) stop() error {
	signal.Stop(r.hangUp)
	close(r.quit)
	r.done.Wait()
	if r.watcher == nil {
		return nil
	}
	return r.watcher.Close()
}

// reload puts the configuration in force and prints the plan. Who asked for it
// is always answered; who only wrote a file hears of the same fault once.
func (r *reloading) reload(asked bool) {
	done, err := r.g.app.ReloadFile(context.Background())
	if core.ErrorCode(err) == "reload_unavailable" { // it is stopping
		return
	}
	if err != nil {
		r.follow(r.g.app.Config(), true)
		r.refuse(err, asked)
		return
	}
	r.mu.Lock()
	r.refused = ""
	r.mu.Unlock()
	logPlan(r.log, done)
}

// follow watches the files that matter now; while a configuration is refused,
// its own too.
func (r *reloading) follow(cfg *config.Config, refused bool) {
	r.mu.Lock()
	w := r.watcher
	r.mu.Unlock()
	if w == nil {
		return
	}
	files := cfg.Watched()
	if refused {
		for _, name := range config.FilesOf(cfg.Path(), r.opts) {
			if !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	w.Set(files)
}

func (r *reloading) refuse(err error, asked bool) {
	if core.ErrorCode(err) == "config_invalid" && errors.Unwrap(err) != nil {
		err = errors.Unwrap(err) // the text below says the rest
	}
	r.mu.Lock()
	known := r.refused == err.Error()
	r.refused = err.Error()
	r.mu.Unlock()
	if known && !asked {
		return
	}
	const text = "the configuration is not taken over, the one before stays in force: "
	var invalid config.InvalidError
	if !errors.As(err, &invalid) {
		r.log.Error(text + oneLine(err))
		return
	}
	for _, problem := range invalid {
		r.log.Error(text + problem.String())
	}
}

// logPlan says what a reload changed, one line each, as `skein config diff`
// does.
func logPlan(log *slog.Logger, done app.Reloaded) {
	for _, change := range done.Plan {
		if change.Class != config.ClassRestart && change.Class != config.ClassPlugin {
			log.Info("configuration: " + change.String())
		}
	}
	for _, x := range done.Accounts {
		if x.Result == app.ReloadFailed || x.Result == app.ReloadNeedsRestart {
			log.Error("configuration: "+x.Channel+":"+x.Account+": "+string(x.Result), "error", x.Error)
		}
	}
	for _, change := range done.Pending {
		log.Warn("configuration: restart the gateway to apply " + change.Path + ": " + change.Difference())
	}
}
