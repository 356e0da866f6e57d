package app

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/model/anthropic"
	"github.com/skein-bot/skein/core/model/openai"
	"github.com/skein-bot/skein/core/model/scripted"
	"github.com/skein-bot/skein/core/words"
)

// provider is a model provider and the settings it was made from.
type provider struct {
	model.Provider
	mark string
}

// addProviders makes the model providers of l. Those whose settings did not
// change are taken from prev.
func (a *App) addProviders(l, prev *snapshot) error {
	for name, p := range l.cfg.Models.Providers {
		var was provider
		if prev != nil {
			was = prev.providers[name]
		}
		x, err := a.provider(name, p, was)
		if err != nil {
			return fmt.Errorf("models.providers.%s: %w", name, err)
		}
		l.providers[name] = x
	}
	return a.addOwn(l, prev)
}

// provider makes a model provider, or returns was if its settings are the same.
func (a *App) provider(name string, p config.Provider, was provider) (provider, error) {
	made, err := json.Marshal(p)
	if err != nil {
		return provider{}, err
	}
	mark := string(made) + p.APIKey.Reveal() + scriptOf(p)
	if was.mark == mark {
		return was, nil
	}
	x, err := a.makeProvider(name, p)
	return provider{x, mark}, err
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
			return nil, fmt.Errorf("the rules of the scripted model: %w (write that file, or name another as models.providers.%s.file)", err, name)
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

// model finds the provider of "<provider>/<model id>" and what the
// configuration says of the model.
func (l *snapshot) model(ref string) (name string, p config.Provider, m config.Model, err error) {
	if ref == "" {
		return "", p, m, &model.Error{Class: model.BadRequest, Err: core.Errorf("model_unset", "no model is configured").
			WithRemedy("set agents.defaults.model to <provider>/<model id>")}
	}
	name, p, m, ok := l.cfg.Model(ref)
	if _, made := l.providers[name]; !ok || !made {
		return name, p, m, words.RefuseModelUnknownHere("model_unknown", ref, l.providerNames())
	}
	return name, p, m, nil
}

// knows reports whether a model can be resolved.
func (l *snapshot) knows(ref string) bool {
	_, _, _, err := l.model(ref)
	return err == nil
}

func (l *snapshot) providerNames() string {
	var names []string
	for n := range l.providers {
		names = append(names, n)
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// models lists the models that are described, and the providers that describe
// none and take any, both sorted.
func (l *snapshot) models() (refs, anyOf []string) {
	for name, p := range l.cfg.Models.Providers {
		for _, m := range p.Models {
			refs = append(refs, name+"/"+m.ID)
		}
		if len(p.Models) == 0 || p.Type == config.ProviderScripted {
			anyOf = append(anyOf, name+"/…")
		}
	}
	slices.Sort(refs)
	slices.Sort(anyOf)
	return refs, anyOf
}

// The context windows of models that the configuration says nothing about, in
// tokens. A model that reads less shows it by refusing a request.
const (
	windowOfAnthropic = 200_000
	windowOfOthers    = 128_000
)

// info returns what is known about a model.
func (l *snapshot) info(ref string) model.Info {
	_, p, m, ok := l.cfg.Model(ref)
	if !ok {
		return model.Info{ContextTokens: windowOfOthers}
	}
	window := windowOfOthers
	if p.Type == config.ProviderAnthropic {
		window = windowOfAnthropic
	}
	return model.Info{
		ContextTokens: m.ContextTokens.Or(window), Vision: m.Vision.Or(sees(p.Type, m.ID)), MaxTokens: m.MaxOutputTokens.Or(0),
		Price: model.Price{
			In: known(m.Cost.Input), Out: known(m.Cost.Output), CacheRead: known(m.Cost.CacheRead), CacheWrite: known(m.Cost.CacheWrite),
		},
	}
}

// credential names what a service knows a provider by: where it is and the key
// it gets; without a key, the provider.
func credential(name string, p config.Provider) string {
	key := p.APIKey.Reveal()
	if key == "" {
		return name
	}
	sum := sha256.Sum256([]byte(string(p.Type) + "\n" + p.BaseURL + "\n" + key))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// seeing matches the ids of well-known models of OpenAI-compatible services
// that take pictures.
var seeing = regexp.MustCompile(`(?i)(^|/)(gpt-4o|gpt-4\.|gpt-[5-9]|o[134]($|-)|chatgpt-)|vision|-vl|llava|pixtral|gemini|claude-|gemma-?3|llama-?4|mistral-(small|medium)-3`)

// sees tells whether a model takes pictures where its entry does not say.
func sees(t config.ProviderType, id string) bool {
	return t == config.ProviderAnthropic || t == config.ProviderOpenAI && seeing.MatchString(id)
}

// known returns a price, nil where the configuration has none.
func known(price config.Optional[float64]) *float64 {
	if usd, ok := price.Get(); ok {
		return &usd
	}
	return nil
}
