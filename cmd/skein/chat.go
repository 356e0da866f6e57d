package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/cmd/skein/chat"
	"github.com/skein-bot/skein/cmd/skein/chat/fullscreen"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

const patienceHelp = "how long one line of a pipe may take to be answered"

func chatCommand(e *env) *cobra.Command {
	o := chatOptions{patience: 2 * time.Minute}
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk to the gateway from this terminal", Args: noProject,
		Long: `Talk to the agent from this terminal, over the gateway's console channel. It
attaches to the running gateway; if none runs, it runs one in its own process.

It fills the terminal: the conversation, and the list of its threads with what
goes on in each. Tab goes to the next place, unread ones first; Ctrl-G shows all
keys; Ctrl-C leaves, and everything goes on without it. --plain writes line by
line instead, as it also does where TERM is dumb.

In both, threads are #1, #2, ...: "/thread 1" goes there, "/thread main" comes
back; "/edit" and a text, or "/delete", changes your newest message there; "/help"
lists the commands of the agent; Ctrl-D or "/quit" ends.

Without a terminal it reads lines, waits after each until everything is answered,
and prints the conversation: a pipe is a script.

--agent talks to another agent than the one that the console leads to, in a
conversation of its own that is there again the next time.`,
		RunE: does(func(ctx context.Context, _ []string) error {
			if err := e.refuseInScript("chat"); err != nil {
				return err
			}
			name, err := e.find()
			if err != nil {
				return err
			}
			cfg, err := e.load()
			if err != nil {
				return err
			}
			o.cfg, o.again = cfg, "skein chat"
			o.load = func() (*config.Config, error) {
				full, _, err := e.loadFully(name)
				return full, err
			}
			return e.chat(ctx, o)
		}),
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.agent, "agent", "", "talk to this agent, in a conversation of its own")
	return cmd
}

// chatOptions make a chat.
type chatOptions struct {
	// cfg says where the gateway is; load reads it with its secrets, for a
	// gateway of our own.
	cfg      *config.Config
	load     func() (*config.Config, error)
	greeting string
	// agent is who is talked to; "" is whoever the main conversation leads to.
	agent    string
	patience time.Duration
	// again is the command that comes back here.
	again string
	// plain writes lines also on a terminal; background is for which one
	// colours are chosen.
	plain      bool
	background string
}

// flags are those of every command that chats.
func (o *chatOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&o.patience, "patience", o.patience, patienceHelp)
	f.BoolVar(&o.plain, "plain", false, "write line by line instead of filling the terminal")
	f.StringVar(&o.background, "background", string(fullscreen.BackgroundAuto), "colours for a terminal that is dark or light; auto asks it")
}

// chat attaches to the gateway of a configuration, or runs it meanwhile.
func (e *env) chat(ctx context.Context, o chatOptions) error {
	if !usesHub(o.cfg) {
		return errNoConsole(o.cfg)
	}
	if _, err := fullscreen.ParseBackground(o.background); err != nil {
		return usagef("--background: %v", err)
	}
	ctx, atOnce, stop := signals(ctx, syscall.SIGHUP) // a chat ends with its terminal
	defer stop()
	if c := dialGateway(o.cfg); c != nil {
		defer c.close() //nolint:errcheck // nothing is in flight
		people := console.NewPeopleClient(socketURL+consolePath, "", c.http)
		return e.talk(ctx, people, c, o, true)
	}
	cfg, err := o.load()
	if err != nil {
		return err
	}
	log, closeLog, err := fileLog(cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	g, err := e.openGateway(gatewayOptions{cfg: cfg, log: log, load: o.load})
	if err != nil {
		return err
	}
	if err := g.start(ctx); err != nil {
		return errors.Join(err, g.stop(atOnce))
	}
	err = e.talk(ctx, g.hub, inProcess(g.app.API(), true, nothingToClose), o, false)
	return errors.Join(err, g.stop(atOnce))
}

// talk runs the chat itself: on the whole terminal, or line by line.
func (e *env) talk(ctx context.Context, people console.People, c *client, o chatOptions, attached bool) error {
	if err := isHere(ctx, c); err != nil {
		return err
	}
	conversation, err := conversationOf(ctx, people, o)
	if err != nil {
		return err
	}
	if e.fillsTerminal(o) {
		return e.talkOnScreen(ctx, people, c, conversation, o, attached)
	}
	return e.talkInLines(ctx, people, c, conversation, o, attached)
}

// isHere refuses a chat with a node whose console another node of the store
// has: nothing that is written here would be read.
func isHere(ctx context.Context, c *client) error {
	var status app.StatusView
	if err := c.get(ctx, "/status", nil, &status); err != nil {
		return err
	}
	for _, account := range status.Channels {
		if account.Channel == console.Channel && account.Account == console.DefaultAccount && account.State == app.AccountElsewhere {
			return core.Errorf("chat_elsewhere", "another node of this store has the console").
				WithRemedy("run `skein chat` on that node, or stop it: another one takes the console over then")
		}
	}
	return nil
}

// conversationOf returns the conversation with the agent that is asked for: the
// main one where that leads to it, else one of its own, which is opened if need
// be.
func conversationOf(ctx context.Context, people console.People, o chatOptions) (string, error) {
	main := app.RouteQuery{Channel: console.Channel, Account: console.DefaultAccount, Kind: core.Direct, Peer: console.Local}
	if o.agent == "" || app.Explain(o.cfg, main).Agent == o.agent {
		return console.Main, nil
	}
	opened, err := people.OpenChat(ctx, console.ChatRequest{By: console.User{ID: console.Local}, Agent: o.agent})
	if refusal := new(console.Error); errors.As(err, &refusal) {
		return "", core.Errorf("chat_no_agent", "%s", refusal.Text).WithRemedy("name one of agents.entries; `skein config get agents.entries` shows them")
	}
	return opened.ID, err
}

// talkInLines is the chat that writes line by line.
func (e *env) talkInLines(ctx context.Context, people console.People, c *client, conversation string, o chatOptions, attached bool) error {
	options := chat.Options{
		People: people, Conversation: conversation, User: console.Local, In: e.stdin, Out: e.stdout, Color: e.color(), Greeting: o.greeting,
		Clock: e.clock, NewKey: newKeys(), Settled: settled(c), Patience: o.patience, Reconnect: attached,
	}
	if isTerminal(e.stdin) && isTerminal(e.stdout) {
		restore, err := makeTerminal(&options, e.stdin.(*os.File), e.stdout.(*os.File))
		if err != nil {
			return err
		}
		defer restore()
	}
	return chat.Run(ctx, options)
}

// newKeys returns keys of posts that no other terminal uses.
func newKeys() func() string {
	terminal, n := strconv.FormatUint(rand.Uint64(), 36), 0
	return func() string {
		n++
		return fmt.Sprintf("terminal-%s-%d", terminal, n)
	}
}

// settled asks the gateway whether it has taken what was posted and nothing is
// in progress any more.
func settled(c *client) func(context.Context, uint64) (bool, error) {
	return func(ctx context.Context, posted uint64) (bool, error) {
		var status app.StatusView
		if err := c.get(ctx, "/status", nil, &status); err != nil || !status.Idle {
			return false, err
		}
		for _, account := range status.Channels {
			if account.Channel != console.Channel || account.Account != console.DefaultAccount {
				continue
			}
			taken, _ := strconv.ParseUint(account.Cursors[console.CursorName], 10, 64)
			return taken >= posted, nil
		}
		return false, core.Errorf("console_off", "the gateway has no account %s:%s", console.Channel, console.DefaultAccount)
	}
}

// screen joins what is read and what is written.
type screen struct {
	io.Reader
	io.Writer
}

// makeTerminal makes the terminal ready for editing lines, and keeps it at the
// size of its window, until restore.
func makeTerminal(o *chat.Options, in, out *os.File) (restore func(), err error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	t := term.NewTerminal(screen{in, out}, "")
	t.SetBracketedPasteMode(true)
	resize := func() {
		if width, height, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			_ = t.SetSize(width, height)
		}
	}
	resize()
	sizes, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(sizes, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-sizes:
				resize()
			case <-done:
				return
			}
		}
	}()
	o.Terminal = t
	o.Width = func() int {
		width, _, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
	return func() {
		signal.Stop(sizes)
		close(done)
		t.SetBracketedPasteMode(false)
		_ = term.Restore(int(in.Fd()), before)
		fmt.Fprintln(out)
	}, nil
}
