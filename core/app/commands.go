package app

import (
	"context"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/command"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// commands returns the chat commands of this runtime.
func (a *App) commands() command.Set {
	return command.New(command.Options{
		World: a.world, DB: a.db, Log: a.log, Config: commandConfig{a}, Bindings: a.bindings, Stopper: a.engine, Spawner: a.engine, Kernel: a.kernel, Poster: a.delivery, Presence: a,
		Settle: a.settle(),
	})
}

// recoverCommands continues every /focus and /subagents spawn that a crash left
// half done.
func (a *App) recoverCommands(ctx context.Context) {
	if err := a.commands().Recover(ctx); err != nil && ctx.Err() == nil {
		a.log.Error("half done commands could not be continued", "error", err)
	}
}

// commandConfig answers the commands from the live configuration.
type commandConfig struct{ a *App }

var _ command.Config = commandConfig{}

func (c commandConfig) AgentIDs() []string { return c.a.live().cfg.AgentIDs() }

func (c commandConfig) AgentName(id string) string { return c.a.live().agents[id].Name }

func (c commandConfig) Model(agentID string) string { return c.a.live().agents[agentID].Model }

// FindModel implements command.Config.
func (c commandConfig) FindModel(name string) (ref string, ok bool) {
	l := c.a.live()
	if l.knows(name) {
		return name, true
	}
	refs, _ := l.models()
	for _, r := range refs {
		if _, id, _ := strings.Cut(r, "/"); id == name {
			if ok {
				return "", false // several providers have it
			}
			ref, ok = r, true
		}
	}
	return ref, ok
}

func (c commandConfig) Models() (refs, providers []string) { return c.a.live().models() }

// Tools implements command.Config.
func (c commandConfig) Tools(s agent.Scope) policy.Toolset {
	return c.a.live().toolPolicy(s).Apply(c.a.knownTools())
}

func (c commandConfig) PolicyOf(m core.Message) string { return intakeConfig(c).PolicyOf(m) }

func (c commandConfig) DirectScope() core.DirectScope {
	return core.DirectScope(c.a.live().cfg.Session.DMScope)
}

func (c commandConfig) Limits(id string) subagent.Limits { return limitsOf(c.a.live().cfg, id) }

func (c commandConfig) USDPerDay(channel, account string) float64 {
	return c.a.live().cfg.UserLimits(channel, account).USDPerDay
}

func (c commandConfig) Language() words.Language { return c.a.live().words }

func (c commandConfig) QueueMode(channel, account string) kernel.QueueMode {
	return kernel.QueueMode(c.a.live().cfg.Queue(channel, account).Mode)
}
