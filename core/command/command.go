package command

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// Request is one command of a person whom access control has admitted and who
// may use commands.
type Request struct {
	Name, Args string
	// Message is what the person wrote; replies go to its address.
	Message core.Message
	// Actor is the person as "channel:id", "" if the platform did not say.
	Actor string
	// Operator may override the owner of a binding.
	Operator bool
	// Session is the one to which the conversation leads, through a binding or
	// a route. Its ID is 0 if it does not exist yet; Key and AgentID say what it
	// would be.
	Session store.Session
	Key     core.SessionKey
	AgentID string
	// Binding is the one that the conversation goes through, if Bound.
	Binding core.Binding
	Bound   bool
	Now     core.Millis

	// Language is the one to answer in; Run sets it.
	Language words.Language

	set Set // that runs it
}

// Reply answers a command where it was written.
type Reply struct {
	Text string
	// Kind is store.OutCommand if empty.
	Kind store.OutboxKind
	// Silent is set where the effect posts the one message itself: the intro,
	// the farewell, or the reply that After brings.
	Silent bool
	// After is work outside the store. It runs after the commit, in a goroutine
	// that the runtime waits for; nil for none.
	After func(ctx context.Context)
}

// Command is one command of a Set.
type Command struct {
	Name string
	// Usage is the line of /help without the slash and the name, Summary what
	// it does, in a language.
	Usage   string
	Summary func(words.Language) string
	// Run has the effect in the transaction of the message. A *core.Error is a
	// refusal: the transaction is committed all the same, so nothing may be
	// left half done.
	Run func(tx *store.Tx, r Request) (Reply, error)
}

// Config answers from the live configuration.
type Config interface {
	// AgentIDs returns the configured agents in their order, AgentName the
	// declared name of one, "" if it has none.
	AgentIDs() []string
	AgentName(id string) string
	// Model returns an agent's model.
	Model(agentID string) string
	// FindModel returns the reference of the model that a person means: written
	// whole, or by its id where only one provider describes it.
	FindModel(name string) (ref string, ok bool)
	// Models lists the models that are described, and the providers that
	// describe none and take any.
	Models() (refs, providers []string)
	// Tools returns what the tool policy leaves, and removes, in a turn.
	Tools(scope agent.Scope) policy.Toolset
	// PolicyOf is the sender policy of a message, as its turn has it.
	PolicyOf(m core.Message) string
	DirectScope() core.DirectScope
	// Language is the one in which people are spoken to.
	Language() words.Language
	// Limits are the budgets of an agent, USDPerDay what one person may cause in
	// a day through an account (limits.perUser.usdPerDay); 0 is no limit.
	Limits(agentID string) subagent.Limits
	USDPerDay(channel, account string) float64
	// QueueMode is the configured queue mode of an account.
	QueueMode(channel, account string) kernel.QueueMode
}

// Stopper ends what a session or a run does, and steers runs; the sub-agent
// engine is one.
type Stopper interface {
	Stop(tx *store.Tx, session int64) (subagent.Stopped, error)
	StopRun(tx *store.Tx, run core.Run) (subagent.Stopped, error)
	Steer(tx *store.Tx, run core.Run, item model.Item, owner string) error
}

// Spawner starts sub-agents; the sub-agent engine is one.
type Spawner interface {
	SpawnAsked(tx *store.Tx, a subagent.Asked) (subagent.Started, error)
	ThreadAsked(ctx context.Context, a subagent.Asked, done func(tx *store.Tx, st subagent.Started, refusal error) error) error
}

// Waker tells the kernel that a session has work; it does not block.
type Waker interface {
	Wake(session int64, lane store.Lane, urgent bool)
}

// Presence shows people that something is being done; it must not block.
type Presence interface {
	Typing(ctx context.Context, at core.Address)
}

// Options make a Set. All but Presence are required.
type Options struct {
	World    *world.World
	DB       *store.DB
	Log      *slog.Logger
	Config   Config
	Bindings Bindings
	Stopper  Stopper
	Spawner  Spawner
	Kernel   Waker
	Poster   subagent.Poster
	Presence Presence // may be nil
	// Settle is how long a thread must have been half opened before Recover takes
	// it for one that a crash left; 0 where this process is alone on its store.
	Settle time.Duration
}

// Set is a registry of commands, as a value: With returns another one.
type Set struct {
	o        Options
	commands map[string]Command
}

// New returns the set of the built-in commands.
func New(o Options) Set {
	s := Set{o: o, commands: make(map[string]Command)}
	for _, c := range []Command{
		{"agents", "", words.Language.HelpAgents, s.agents},
		{"focus", "<target>", words.Language.HelpFocus, s.focus},
		{"help", "", words.Language.HelpHelp, s.help},
		{"model", "[name|default]", words.Language.HelpModel, s.modelCommand},
		{"new", "[model]", words.Language.HelpNew, s.fresh},
		{"queue", "[steer|followup|collect|interrupt|default]", words.Language.HelpQueue, s.queue},
		{"reset", "", words.Language.HelpReset, s.reset},
		{"retry", "", words.Language.HelpRetry, s.retry},
		{"session", "idle|max-age [duration|off]", words.Language.HelpSession, s.session},
		{"status", "", words.Language.HelpStatus, s.status},
		{"stop", "", words.Language.HelpStop, s.stop},
		{"subagents", "list | info <target> | log <target> [limit] [tools] | kill <target|all> | steer <target> <text> | send <target> <text> | spawn <agent> <task> [--model m] [--thinking l] [--thread]", words.Language.HelpSubagents, s.subagents},
		{"tasks", "", words.Language.HelpTasks, s.tasks},
		{"tools", "[verbose]", words.Language.HelpTools, s.tools},
		{"unfocus", "", words.Language.HelpUnfocus, s.unfocus},
		{"usage", "[cost]", words.Language.HelpUsage, s.usage},
		{"whoami", "", words.Language.HelpWhoami, s.whoami},
	} {
		s.commands[c.Name] = c
	}
	return s
}

// With returns a set that also has c, in the place of one with its name.
func (s Set) With(c Command) Set {
	s.commands = maps.Clone(s.commands)
	s.commands[c.Name] = c
	return s
}

// Known reports whether there is a command of that name.
func (s Set) Known(name string) bool {
	_, ok := s.commands[name]
	return ok
}

// Commands returns the commands in the order of their names.
func (s Set) Commands() []Command {
	out := slices.Collect(maps.Values(s.commands))
	slices.SortFunc(out, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Run runs a command in the transaction of its message. A *core.Error is a
// refusal, also for a name that is not known (command_unknown); any other error
// means: roll back.
func (s Set) Run(tx *store.Tx, r Request) (Reply, error) {
	c, ok := s.commands[r.Name]
	if !ok {
		return Reply{}, refuseUnknown(r.Name)
	}
	r.set, r.Language = s, s.o.Config.Language()
	reply, err := c.Run(tx, r)
	if err != nil {
		return Reply{}, err
	}
	if reply.Kind == "" {
		reply.Kind = store.OutCommand
	}
	reply.Text = Fit(reply.Text)
	return reply, nil
}

// ensure returns the session of the request, creating it if there is none yet.
func ensure(tx *store.Tx, r Request) (store.Session, error) {
	if r.Session.ID != 0 {
		return r.Session, nil
	}
	return tx.EnsureSession(store.Session{
		Key: r.Key.String(), Agent: r.AgentID, Kind: r.Key.Kind, Address: r.Message.Address, Title: r.Message.Title,
		CreatedAt: r.Now, UsedAt: r.Now,
	})
}
