package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/text"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// gateway is a runtime in this process, with its socket and its console.
type gateway struct {
	env    *env
	cfg    *config.Config
	app    *app.App
	hub    *console.Hub // nil if no account uses it
	socket *app.Socket
	server *http.Server
	served chan struct{}
	cancel context.CancelFunc // ends the requests in progress
	log    logger
	reload atomic.Pointer[reloading] // nil before start
}

// gatewayOptions make a gateway.
type gatewayOptions struct {
	cfg  *config.Config
	log  logger
	load func() (*config.Config, error) // for a reload
}

// openGateway takes the state folder, opens console and store, and joins the
// runtime. Nothing is received before start. An error leaves nothing open.
func (e *env) openGateway(o gatewayOptions) (*gateway, error) {
	g := &gateway{env: e, cfg: o.cfg, log: o.log, served: make(chan struct{})}
	var err error
	if g.socket, err = app.ListenSocket(o.cfg.StateDir()); err != nil {
		return nil, err
	}
	if g.hub, err = openHub(o.cfg, e.clock, func() []string { return g.app.Agents() }); err != nil {
		return nil, errors.Join(err, g.socket.Close())
	}
	g.app, err = app.New(app.Options{
		Config: o.cfg, ConfigOptions: e.configOptions(), Channels: withConsole(channels.New(), g.hub), Log: o.log.Logger, Applied: g.applied,
		Split: splitText, Render: renderText, Literal: literalText, LoadConfig: o.load, Began: e.began,
		Disk: app.DiskOf, AgentPlace: agentPlace,
	})
	if err != nil {
		return nil, errors.Join(err, g.closeHub(), g.socket.Close())
	}
	g.serve(o.log.Logger)
	return g, nil
}

// splitText cuts outgoing text at a channel's limit.
func splitText(s string, caps core.Capabilities) []string {
	var parts []string
	for _, p := range text.Split(s, text.Limit{Max: caps.TextLimit, Unit: textUnit(caps.TextUnit)}) {
		parts = append(parts, p.Text)
	}
	return parts
}

// textUnit is what a channel counts.
func textUnit(name string) text.Unit {
	switch name {
	case "bytes":
		return text.Bytes
	case "runes":
		return text.Runes
	case "graphemes":
		return text.Graphemes
	}
	return text.UTF16
}

// renderText writes outgoing Markdown for a channel. The console shows plain
// text.
func renderText(channel, s string) string {
	if channel != console.Channel {
		return s
	}
	return text.Plain{}.Render(text.Parse(s)).Text
}

// literalText writes a text without markup for a channel.
func literalText(channel, s string) string {
	if channel != console.Channel {
		return s
	}
	return text.Plain{}.Render(text.Literal(s)).Text
}

// The limits of the socket's server. What waits longer is ended.
const (
	headerTimeout = 5 * time.Second
	requestLimit  = 2 * time.Minute
	headerBytes   = 64 << 10
)

// serve answers on the socket.
func (g *gateway) serve(log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("/", g.app.API())
	if g.hub != nil {
		mux.Handle(consolePath+"/", peopleHandler(g.hub))
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	g.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestLimit, WriteTimeout: requestLimit, IdleTimeout: requestLimit,
		MaxHeaderBytes: headerBytes, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(g.served)
		if err := g.server.Serve(g.socket); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the socket is not served any more", "error", err)
		}
	}()
}

// start starts the runtime, and watches the configuration from then on.
func (g *gateway) start(ctx context.Context) error {
	if err := g.app.Start(ctx); err != nil {
		return err
	}
	g.reload.Store(startReloading(g, g.env.configOptions(), g.log.Logger))
	return nil
}

// applied follows a configuration that a reload put in force.
func (g *gateway) applied(cfg *config.Config) {
	g.log.follow(cfg)
	if r := g.reload.Load(); r != nil {
		r.follow(cfg, false)
	}
}

// stop ends the gateway: turns in progress finish until ctx ends, then what
// waits on the socket is cut.
func (g *gateway) stop(ctx context.Context) error {
	err := g.app.Stop(ctx)
	if r := g.reload.Load(); r != nil {
		err = errors.Join(err, r.stop())
	}
	g.cancel()
	err = errors.Join(err, g.closeHub(), g.server.Close())
	<-g.served
	return errors.Join(err, g.socket.Close())
}

func (g *gateway) closeHub() error {
	if g.hub == nil {
		return nil
	}
	return g.hub.Close()
}

// signals gives a context that the first SIGINT or SIGTERM ends, and one that
// the second ends, for what the first began. more are signals that end too.
func signals(ctx context.Context, more ...os.Signal) (first, second context.Context, stop func()) {
	first, endFirst := context.WithCancel(ctx)
	second, endSecond := context.WithCancel(context.WithoutCancel(ctx))
	c := make(chan os.Signal, 2)
	signal.Notify(c, append(more, os.Interrupt, syscall.SIGTERM)...)
	done := make(chan struct{})
	go func() {
		for _, end := range []func(){endFirst, endSecond} {
			select {
			case <-c:
				end()
			case <-done:
				return
			}
		}
	}()
	return first, second, func() {
		signal.Stop(c)
		close(done)
		endFirst()
		endSecond()
	}
}

// closeDescriptor closes a descriptor that the parent process gave: its end of
// the pipe then says that the gateway is ready.
func closeDescriptor(fd int) error {
	f := os.NewFile(uintptr(fd), "ready")
	if f == nil {
		return core.Errorf("ready_fd", "%d is no file descriptor", fd)
	}
	return f.Close()
}
