package app

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/intake"
	"github.com/skein-bot/skein/core/policy"
	"github.com/skein-bot/skein/core/words"
)

// snapshot is one configuration made ready: whatever a message needs of it is
// resolved once. It is never changed; a reload replaces it.
type snapshot struct {
	cfg       *config.Config
	router    *intake.Router
	agents    map[string]agent.Definition
	providers map[string]provider
	own       map[ownKey]provider // made with the credentials of agents
	settings  map[accountID]policy.Settings
	words     words.Language
}

// prepare makes a configuration ready. Providers whose settings did not change
// are taken from prev.
func (a *App) prepare(cfg *config.Config, prev *snapshot) (*snapshot, error) {
	l := &snapshot{cfg: cfg, agents: make(map[string]agent.Definition), providers: make(map[string]provider), own: make(map[ownKey]provider)}
	l.router, l.settings = router(cfg, a.opts.AgentPlace), allAccess(cfg)
	if tag := cfg.Messages.Language; tag != "" {
		w, err := words.Find(tag)
		if err != nil {
			return nil, err
		}
		l.words = w
	}
	for _, id := range cfg.AgentIDs() {
		def, err := a.definition(cfg, id)
		if err != nil {
			return nil, err
		}
		l.agents[id] = def
	}
	if err := a.addProviders(l, prev); err != nil {
		return nil, err
	}
	return l, nil
}

// router compiles the routing rules of a configuration, and after them those of
// the places that belong to one agent each; own may be nil.
func router(cfg *config.Config, own func(agent string) core.Address) *intake.Router {
	var rules []intake.Rule
	for _, r := range cfg.Routes {
		rules = append(rules, route(r))
	}
	for _, id := range cfg.AgentIDs() {
		if own == nil {
			break
		}
		if at := own(id); !at.IsZero() {
			rules = append(rules, intake.Rule{Agent: id, Channel: at.Channel, Account: at.Account, Conversation: at.Conversation})
		}
	}
	return intake.NewRouter(rules, cfg.DefaultAgent())
}

func route(r config.Route) intake.Rule {
	out := intake.Rule{
		Agent: r.AgentID, Channel: r.Match.Channel, Account: r.Match.AccountID, Guild: r.Match.GuildID, Roles: r.Match.Roles,
		Team: r.Match.TeamID,
	}
	if p := r.Match.Peer; p != nil {
		out.PeerKind, out.Peer = core.ConversationKind(p.Kind), p.ID
	}
	return out
}

// contextFiles are read from an agent's workspace into every prompt, and
// personaFiles into those of the agent itself, never of its sub-agents.
var (
	contextFiles = []string{"AGENTS.md", "TOOLS.md"}
	personaFiles = []string{"SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "BOOTSTRAP.md"}
)

// definition resolves one agent.
func (a *App) definition(cfg *config.Config, id string) (agent.Definition, error) {
	s, _ := cfg.Agent(id)
	def := agent.Definition{
		ID: id, Name: s.Name, Model: s.Model, Fallbacks: s.Fallbacks, Thinking: string(s.Thinking), MaxSteps: s.MaxSteps, Timeout: s.TurnTimeout,
		Workspace: s.Workspace,
	}
	var err error
	if def.Instructions, err = cfg.Instructions(id, a.opts.ConfigOptions); err != nil {
		return def, err
	}
	if s.Timezone != "" {
		if def.Timezone, err = time.LoadLocation(s.Timezone); err != nil {
			return def, fmt.Errorf("agents.entries.%s.timezone: %w", id, err)
		}
	}
	if s.Workspace == "" {
		return def, nil
	}
	for n, name := range slices.Concat(contextFiles, personaFiles) {
		b, err := os.ReadFile(filepath.Join(s.Workspace, name))
		if err == nil {
			def.ContextFiles = append(def.ContextFiles, agent.ContextFile{Name: name, Text: string(b), Persona: n >= len(contextFiles)})
		}
	}
	return def, nil
}

// client is the HTTP client of the runtime: no request leaves a cut world. Its
// connections are its own, so that Stop can close them.
func (a *App) client() *http.Client {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{Transport: a.world.Transport(nil)}
	}
	return &http.Client{Transport: a.world.Transport(base.Clone())}
}
