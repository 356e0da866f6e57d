package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/intake"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
	"github.com/skein-bot/skein/core/model/openai"
	"github.com/skein-bot/skein/core/model/scripted"
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
	settings  map[accountID]policy.Settings
	words     words.Language
}

// provider is a model provider and the settings it was made from.
type provider struct {
	model.Provider
	mark string
}

// prepare makes a configuration ready. Providers whose settings did not change
// are taken from prev.
func (a *App) prepare(cfg *config.Config, prev *snapshot) (*snapshot, error) {
	l := &snapshot{cfg: cfg, agents: make(map[string]agent.Definition), providers: make(map[string]provider)}
	l.router, l.settings = router(cfg), allAccess(cfg)
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
	for name, p := range cfg.Models.Providers {
		made, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		mark := string(made) + p.APIKey.Reveal() + scriptOf(p)
		if prev != nil && prev.providers[name].mark == mark {
			l.providers[name] = prev.providers[name]
			continue
		}
		x, err := a.makeProvider(name, p)
		if err != nil {
			return nil, fmt.Errorf("models.providers.%s: %w", name, err)
		}
		l.providers[name] = provider{x, mark}
	}
	return l, nil
}

// scriptOf is the text of a scripted provider's rules, so that an edited file
// makes a new provider.
func scriptOf(p config.Provider) string {
	if p.Type != config.ProviderScripted || p.File == "" {
		return ""
	}
	b, err := os.ReadFile(p.File)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// makeProvider makes a model provider.
func (a *App) makeProvider(name string, p config.Provider) (model.Provider, error) {
	switch p.Type {
	case config.ProviderScripted:
		return a.scripted(name, p)
	case config.ProviderAnthropic:
		return anthropic.New(anthropic.Config{BaseURL: p.BaseURL, Key: p.APIKey.Reveal(), Transport: a.http.Transport, Clock: a.world.Clock})
	default:
		return openai.New(openai.Config{BaseURL: p.BaseURL, Key: p.APIKey.Reveal(), Transport: a.http.Transport, Clock: a.world.Clock})
	}
}

func (a *App) scripted(name string, p config.Provider) (model.Provider, error) {
	var rules []scripted.Rule
	if p.File != "" {
		src, err := os.ReadFile(p.File)
		if err != nil {
			return nil, fmt.Errorf("the rules of the scripted model: %w", err)
		}
		if rules, err = ParseScript(p.File, src); err != nil {
			return nil, err
		}
	}
	var o scripted.Options
	if a.opts.Scripted != nil {
		o = a.opts.Scripted(name)
	}
	return scripted.New(rules, a.world.Clock, o)
}

// ParseScript reads the JSON5 rules of a scripted model.
func ParseScript(name string, src []byte) ([]scripted.Rule, error) {
	tree, err := json5.Parse(name, src)
	if err != nil {
		return nil, err
	}
	doc, err := json.Marshal(tree.Interface())
	if err != nil {
		return nil, err
	}
	rules, err := scripted.ParseRules(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// router compiles the routing rules of a configuration.
func router(cfg *config.Config) *intake.Router {
	var rules []intake.Rule
	for _, r := range cfg.Routes {
		rules = append(rules, route(r))
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

// contextFiles are read from an agent's workspace into every prompt; persona
// files only for the agent itself, never for its sub-agents.
var contextFiles = []string{"AGENTS.md", "TOOLS.md"}

// definition resolves one agent.
func (a *App) definition(cfg *config.Config, id string) (agent.Definition, error) {
	s, _ := cfg.Agent(id)
	def := agent.Definition{
		ID: id, Name: s.Name, Model: s.Model, Fallbacks: s.Fallbacks, Thinking: string(s.Thinking), MaxSteps: s.MaxSteps, Timeout: s.TurnTimeout,
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
	for _, name := range contextFiles {
		b, err := os.ReadFile(filepath.Join(s.Workspace, name))
		if err == nil {
			def.ContextFiles = append(def.ContextFiles, agent.ContextFile{Name: name, Text: string(b)})
		}
	}
	return def, nil
}

// model resolves "<provider>/<model id>".
func (l *snapshot) model(ref string) (model.Provider, string, error) {
	if ref == "" {
		return nil, "", &model.Error{Class: model.BadRequest, Err: core.Errorf("model_unset", "no model is configured").
			WithRemedy("set agents.defaults.model to <provider>/<model id>")}
	}
	name, _, info, ok := l.cfg.Model(ref)
	p, made := l.providers[name]
	if !ok || !made {
		return nil, "", core.Errorf("model_unknown", "the model %q is not configured", ref).
			WithRemedy("models are written <provider>/<model id>; providers: %s", l.providerNames())
	}
	return p.Provider, info.ID, nil
}

func (l *snapshot) providerNames() string {
	var names []string
	for n := range l.providers {
		names = append(names, n)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
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
