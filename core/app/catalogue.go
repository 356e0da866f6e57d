package app

import (
	"time"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/attach"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/intake"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/threadbind"
)

// catalogue answers the turn from the live configuration.
type catalogue struct{ a *App }

var _ agent.Catalogue = catalogue{}

// Agent implements agent.Catalogue.
func (c catalogue) Agent(id string) (agent.Definition, bool) {
	def, ok := c.a.live().agents[id]
	return def, ok
}

// Ways implements agent.Catalogue.
func (c catalogue) Ways(agentID, ref string) ([]agent.Way, error) {
	return c.a.live().ways(agentID, ref)
}

// toolGrace is how long tools get to stop when their turn is stopped.
const toolGrace = 5 * time.Second

// Limits implements agent.Catalogue.
func (c catalogue) Limits() agent.Limits {
	cfg := c.a.live().cfg
	return agent.Limits{
		Stall: time.Duration(cfg.Models.StallSeconds) * time.Second, ToolTimeout: time.Duration(cfg.Tools.TimeoutSeconds) * time.Second,
		ToolGrace: toolGrace,
	}
}

// subagentConfig answers the sub-agent engine.
type subagentConfig struct{ a *App }

var _ subagent.Config = subagentConfig{}

func (c subagentConfig) Subagents(id string) subagent.Settings {
	set, ok := c.a.live().cfg.Agent(id)
	if !ok {
		set, _ = c.a.live().cfg.Agent(c.a.live().cfg.DefaultAgent())
	}
	s := set.Subagents
	return subagent.Settings{
		MaxSpawnDepth: s.MaxSpawnDepth, MaxChildrenPerAgent: s.MaxChildrenPerAgent, MaxTreeRuns: s.MaxTreeRuns, RunTimeout: s.RunTimeout,
		AnnounceTimeout: s.AnnounceTimeout,
		ArchiveAfter:    s.ArchiveAfter, ForkMaxTokens: s.ForkMaxTokens, AllowAgents: s.AllowAgents, RequireAgentID: s.RequireAgentID,
		Prefer: s.DelegationMode == config.DelegationPrefer, Model: s.Model, Thinking: string(s.Thinking),
	}
}

func (c subagentConfig) Limits(id string) subagent.Limits { return limitsOf(c.a.live().cfg, id) }

// limitsOf are the budgets of an agent, none for one that is not configured.
func limitsOf(cfg *config.Config, id string) subagent.Limits {
	set, _ := cfg.Agent(id)
	return subagent.Limits{
		Tokens: set.Limits.MaxTokens, MicroUSD: core.MicroUSD(set.Limits.MaxUSD), DayMicroUSD: core.MicroUSD(set.Limits.PerDayUSD),
	}
}

func (c subagentConfig) Language() words.Language { return c.a.live().words }

func (c subagentConfig) AgentKnown(id string) bool {
	_, ok := c.a.live().agents[id]
	return ok
}

func (c subagentConfig) Agents() []string { return c.a.live().cfg.AgentIDs() }

func (c subagentConfig) Model(id string) string { return c.a.live().agents[id].Model }

func (c subagentConfig) ModelKnown(ref string) bool {
	return c.a.live().knows(ref)
}

func (c subagentConfig) Thinking(id string) string { return c.a.live().agents[id].Thinking }

func (c subagentConfig) Workspace(id string) string { return c.a.live().agents[id].Workspace }

func (c subagentConfig) Directories() []string {
	return c.a.live().cfg.Tools.SessionsSpawn.Directories
}

func (c subagentConfig) Files() subagent.FileRules {
	f := c.a.live().cfg.Tools.SessionsSpawn.Attachments
	return subagent.FileRules{
		Enabled: f.Enabled, Limits: attach.Limits{MaxFiles: f.MaxFiles, MaxFileBytes: f.MaxFileBytes, MaxTotalBytes: f.MaxTotalBytes},
	}
}

// Info implements agent.Catalogue.
func (c catalogue) Info(ref string) model.Info { return c.a.live().info(ref) }

func (c subagentConfig) ToolCeiling(s agent.Scope) []string { return c.a.ceiling(s) }

func (c subagentConfig) SpawnContext(channel, account string) string {
	return string(c.a.live().cfg.ThreadBindings(channel, account).DefaultSpawnContext)
}

// intakeConfig answers intake.
type intakeConfig struct{ a *App }

var _ intake.Config = intakeConfig{}

func (c intakeConfig) Access(channel, account string) policy.Settings {
	return c.a.live().access(channel, account)
}

func (c intakeConfig) PolicyOf(m core.Message) string {
	return c.a.live().access(m.Address.Channel, m.Address.Account).ScopeOf(m).String()
}

func (c intakeConfig) PlaceAgent(at core.Address, guild string) string {
	return c.a.live().access(at.Channel, at.Account).AgentAt(at, guild)
}

func (c intakeConfig) Router() *intake.Router { return c.a.live().router }

func (c intakeConfig) DirectScope() core.DirectScope {
	return core.DirectScope(c.a.live().cfg.Session.DMScope)
}

func (c intakeConfig) Queue(channel, account string) intake.QueueRules {
	q := c.a.live().cfg.Queue(channel, account)
	return intake.QueueRules{Mode: kernel.QueueMode(q.Mode), Cap: q.Cap, Overflow: intake.Overflow(q.Overflow)}
}

func (c intakeConfig) UserLimits(channel, account string) policy.UserLimits {
	return policy.UserLimits(c.a.live().cfg.UserLimits(channel, account))
}

func (c intakeConfig) HistoryLimit(channel, account string) int {
	return c.a.live().cfg.HistoryLimit(channel, account)
}

func (c intakeConfig) Reset(channel string, kind core.ConversationKind, threaded bool) intake.ResetRules {
	sort := config.ConversationKind(kind)
	if threaded {
		sort = config.ConversationThread
	}
	r := c.a.live().cfg.Reset(channel, sort)
	return intake.ResetRules{Mode: intake.ResetMode(r.Mode), AtHour: r.AtHour, Idle: r.Idle}
}

func (c intakeConfig) Zone(id string) *time.Location { return c.a.zone(id) }

func (c intakeConfig) Owners() []string         { return c.a.live().cfg.Commands.OwnerAllowFrom }
func (c intakeConfig) CommandsAllow() []string  { return c.a.live().cfg.Commands.AllowFrom }
func (c intakeConfig) Language() words.Language { return c.a.live().words }

func (c intakeConfig) RefuseCommands() bool {
	return c.a.live().cfg.Commands.Unauthorized != config.UnauthorizedSilent
}

// slots answers the kernel how many turns a lane may run.
func (a *App) slots(l store.Lane) int {
	d := a.live().cfg.Agents.Defaults
	if l == store.LaneSubagent {
		return d.Subagents.MaxConcurrent
	}
	return d.MaxConcurrent
}

// queueOf answers the kernel how a session takes its messages.
func (a *App) queueOf(s store.Session, head store.Inbox) kernel.Queue {
	q := a.live().cfg.Queue(head.ReplyTo.Channel, head.ReplyTo.Account)
	mode := kernel.QueueMode(q.Mode)
	if s.QueueMode != "" {
		mode = kernel.QueueMode(s.QueueMode)
	}
	return kernel.Queue{Mode: mode, Debounce: q.Debounce}
}

// onAmbiguous answers delivery.
func (a *App) onAmbiguous(kind store.OutboxKind) delivery.OnAmbiguous {
	p := a.live().cfg.Delivery.OnAmbiguous
	if kind == store.OutFinal {
		return delivery.OnAmbiguous(p.Final)
	}
	return delivery.OnAmbiguous(p.Other)
}

// streams says whether an account shows answers while they are written.
func (a *App) streams(channel, account string, preset bool) bool {
	return a.live().cfg.Streaming(channel, account, preset)
}

// poster is delivery as the bindings see it; they are made first.
type poster struct{ a *App }

func (p poster) Post(tx *store.Tx, r store.Outbox) (int64, bool, error) {
	return p.a.delivery.Post(tx, r)
}

func (p poster) Withdraw(tx *store.Tx, session int64) (int64, error) {
	return p.a.delivery.Withdraw(tx, session)
}

func (p poster) Reissue(tx *store.Tx, old store.Outbox, key string) error {
	return p.a.delivery.Reissue(tx, old, key)
}

func (p poster) DropPreview(tx *store.Tx, id int64) error { return p.a.delivery.DropPreview(tx, id) }

// bindingSettings resolves the rules for bindings of one account.
func (a *App) bindingSettings(channel, account string) threadbind.Settings {
	cfg := a.live().cfg
	r := cfg.ThreadBindings(channel, account)
	def, _ := cfg.Agent(cfg.DefaultAgent())
	return threadbind.Settings{
		Enabled: r.Enabled, EnabledKey: r.EnabledKey, Idle: r.Idle, MaxAge: r.MaxAge,
		SpawnSessions: r.SpawnSessions, SpawnSessionsKey: r.SpawnSessionsKey, SpawnContext: string(r.DefaultSpawnContext),
		Placement: core.Placement(r.Placement), OnEnd: threadbind.OnEnd(r.OnEnd), OnLate: threadbind.OnLate(r.OnLate),
		KeepEnded: r.KeepEnded, MaxPerUser: r.MaxPerUser, ArchiveAfter: def.Subagents.ArchiveAfter, Language: a.live().words,
	}
}

// bindingAdapter returns the binding ability of an account, nil if it has none.
func (a *App) bindingAdapter(channel, account string) core.BindingAdapter {
	b, _ := a.adapter(channel, account).(core.BindingAdapter)
	return b
}

// zone is the time zone in which people read an agent's deadlines.
func (a *App) zone(agentID string) *time.Location { return a.live().agents[agentID].Timezone }
