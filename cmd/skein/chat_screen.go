package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/charmbracelet/colorprofile"

	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/cmd/skein/chat/fullscreen"
	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/words"
)

// memoryName is the file, in the state folder, of what was written and read in
// terminals.
const memoryName = "chat.jsonl"

// fillsTerminal tells whether the chat takes the whole terminal.
func (e *env) fillsTerminal(o chatOptions) bool {
	if value, _ := e.lookup("TERM"); value == "dumb" || o.plain {
		return false
	}
	return isTerminal(e.stdin) && isTerminal(e.stdout)
}

// talkOnScreen is the chat that fills the terminal.
func (e *env) talkOnScreen(ctx context.Context, people console.People, c *client, conversation string, o chatOptions, attached bool) error {
	options := fullscreen.Options{
		People: people, Conversation: conversation, User: console.Local, In: e.stdin.(*os.File), Out: e.stdout.(*os.File),
		Clock: e.clock, Zone: e.zone, NewKey: newKeys(), Overview: overview(c, o.cfg), Commands: chatCommands(), Greeting: o.greeting,
		Reconnect: attached, Faults: e.stderr, Background: fullscreen.Background(o.background),
	}
	if value, _ := e.lookup("NO_COLOR"); value != "" {
		options.Profile = colorprofile.ASCII
	}
	memory, err := fullscreen.OpenMemory(filepath.Join(o.cfg.StateDir(), memoryName))
	if err != nil {
		options.Warning = err.Error()
	}
	options.Memory = memory
	working, err := fullscreen.Run(ctx, options)
	if err := errors.Join(err, memory.Close()); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, farewell(working, attached, o.again))
	return nil
}

// farewell says where things go on.
func farewell(working int, attached bool, again string) string {
	text := "Nothing is in progress."
	switch {
	case working == 1:
		text = "Work goes on in one place."
	case working > 1:
		text = fmt.Sprintf("Work goes on in %d places.", working)
	}
	if attached {
		return text + " The gateway runs on; `" + again + "` comes back here."
	}
	if working > 0 {
		text = "What was in progress goes on at the next start."
	}
	return text + " `" + again + "` comes back here."
}

// chatCommands are those that people may write to an agent.
func chatCommands() []fullscreen.Command {
	var list []fullscreen.Command
	for _, c := range command.New(command.Options{}).Commands() {
		list = append(list, fullscreen.Command{Name: c.Name, Usage: c.Usage, Summary: c.Summary(words.Language{})})
	}
	return list
}

// overview asks the gateway what goes on in the places of the console.
func overview(c *client, cfg *config.Config) func(context.Context) ([]fullscreen.Work, error) {
	return func(ctx context.Context) ([]fullscreen.Work, error) {
		var sessions []app.SessionView
		var bindings []app.BindingView
		var tasks []app.TaskView
		err := errors.Join(
			c.get(ctx, "/sessions", nil, &sessions), c.get(ctx, "/bindings", nil, &bindings), c.get(ctx, "/tasks", nil, &tasks),
		)
		if err != nil {
			return nil, err
		}
		works := worksOf(sessions, bindings, tasks)
		for i, w := range works {
			if name := cfg.Agents.Entries[w.Agent].Name; name != "" {
				works[i].Agent = name
			}
		}
		return works, nil
	}
}

// worksOf joins what the gateway says of sessions, bindings and tasks into what
// goes on in each place.
func worksOf(sessions []app.SessionView, bindings []app.BindingView, tasks []app.TaskView) []fullscreen.Work {
	states := make(map[string]app.SessionView)
	works := make(map[fullscreen.Place]fullscreen.Work)
	for _, s := range sessions {
		states[s.Key] = s
		if at, ok := consolePlace(s.Address); ok && at.Thread == "" && s.Depth == 0 {
			works[at] = fullscreen.Work{Place: at, Agent: s.Agent, State: stateOf(s.State)}
		}
	}
	last := make(map[string]app.TaskView) // of each session
	for _, t := range tasks {
		if known, ok := last[t.Session]; !ok || known.CreatedAt < t.CreatedAt {
			last[t.Session] = t
		}
	}
	for _, b := range bindings {
		at, ok := consolePlace(b.Address)
		if !ok {
			continue
		}
		w := fullscreen.Work{Place: at, Agent: b.Agent, State: stateOf(states[b.Session].State), Bound: true, Ends: b.ExpiresAt}
		if t, ok := last[b.Session]; ok && w.State == fullscreen.StateIdle {
			w.State, w.Detail = outcomeOf(t.Status), t.Detail
		}
		works[at] = w
	}
	list := make([]fullscreen.Work, 0, len(works))
	for _, w := range works {
		list = append(list, w)
	}
	return list
}

// consolePlace reads an address of the terminal's account.
func consolePlace(address string) (fullscreen.Place, bool) {
	at, err := core.ParseAddress(address)
	if err != nil || at.Channel != console.Channel || at.Account != console.DefaultAccount {
		return fullscreen.Place{}, false
	}
	return fullscreen.Place{Conversation: at.Conversation, Thread: at.Thread}, true
}

// stateOf is the state of a session as the screen shows it.
func stateOf(session string) fullscreen.State {
	switch session {
	case app.SessionRunning:
		return fullscreen.StateRunning
	case app.SessionQueued, app.SessionHeld:
		return fullscreen.StateQueued
	case app.SessionWaiting:
		return fullscreen.StateWaiting
	}
	return fullscreen.StateIdle
}

// outcomeOf is what became of a task.
func outcomeOf(status core.TaskStatus) fullscreen.State {
	switch status {
	case core.TaskQueued:
		return fullscreen.StateQueued
	case core.TaskRunning, core.TaskWaiting:
		return fullscreen.StateWaiting
	case core.TaskSucceeded:
		return fullscreen.StateDone
	}
	return fullscreen.StateFailed
}
