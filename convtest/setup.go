package convtest

import (
	_ "embed" // of the open configuration
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/config/json5"
	"github.com/skein-bot/skein/convtest/script"
)

//go:embed open.json5
var openConfig []byte

const (
	configFile = "skein.json5"
	modelFile  = "model.json5"
)

// layOut writes the files of the script into its working directory, with the
// ids in JSON5 files expanded.
func (p *play) layOut() error {
	files := slices.Clone(p.script.Files)
	for _, name := range []string{configFile, modelFile} {
		if _, ok := p.script.File(name); !ok {
			files = append(files, script.File{Name: name, Data: []byte("{}\n")})
		}
	}
	for _, f := range files {
		path := filepath.Join(p.dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, p.contents(f), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// contents is a file of the archive as it is laid out.
func (p *play) contents(f script.File) []byte {
	switch filepath.Ext(f.Name) {
	case ".json5", ".json":
		return []byte(script.Expand(string(f.Data), func(r script.Ref) (string, bool) {
			if r.ID == "" {
				return "", false
			}
			return p.id(r.ID)
		}))
	}
	return f.Data
}

// configOptions are those of every configuration of the script.
func (p *play) configOptions() config.Options { return config.Options{Built: p.opts.Built} }

// loadConfig reads a file of the script as the configuration: over the open
// one, with the harness's own keys on top.
func (p *play) loadConfig(name string) (*config.Config, error) {
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	cfg, err := p.decodeConfig(path)
	if err != nil { // the folder is nothing a person has seen
		return nil, fmt.Errorf("%s", strings.ReplaceAll(err.Error(), p.dir+string(filepath.Separator), ""))
	}
	return cfg, nil
}

func (p *play) decodeConfig(path string) (*config.Config, error) {
	doc, err := config.ReadTree(path, p.configOptions())
	if err != nil {
		return nil, err
	}
	base, err := p.baseConfig()
	if err != nil {
		return nil, err
	}
	if open := doc.Tree.Remove("$open"); open != nil && open.Kind == json5.Bool && !open.Bool {
		base = json5.NewObject()
	}
	config.SpreadAccounts(doc.Tree)
	tree := json5.Merge(base, doc.Tree)
	if err := p.supply(tree); err != nil {
		return nil, err
	}
	cfg, _, err := config.Decode(tree, p.configOptions())
	if err != nil {
		return nil, err
	}
	if err := cfg.ResolveSecrets(p.configOptions()); err != nil {
		return nil, err
	}
	return cfg, nil
}

// baseConfig is what the script's configuration is laid over.
func (p *play) baseConfig() (*json5.Node, error) {
	if p.opts.Base != "" {
		doc, err := config.ReadTree(p.opts.Base, p.configOptions())
		if err != nil {
			return nil, err
		}
		config.SpreadAccounts(doc.Tree)
		return doc.Tree, nil
	}
	// Its relative paths start where those of the script's own do.
	doc, err := config.ParseTree(filepath.Join(p.dir, "open.json5"), openConfig, p.configOptions())
	if err != nil {
		return nil, err
	}
	var owners []string
	open := json5.NewObject()
	for _, ch := range p.channels {
		accounts := json5.NewObject()
		for _, account := range p.accountsOf(ch.name) {
			accounts.Set(account, json5.NewObject())
		}
		keys := json5.NewObject()
		keys.Set("dmPolicy", json5.NewString("open"))
		keys.Set("groupPolicy", json5.NewString("open"))
		keys.Set("requireMention", json5.NewBool(false))
		keys.Set("accounts", accounts)
		open.Set(ch.name, keys)
	}
	for _, person := range p.script.People() {
		if slices.Contains(person.Channels, "console") {
			owners = append(owners, p.sender("console", person.Name))
		}
	}
	doc.Tree.Set("channels", open)
	doc.Tree.Set("commands", json5.NewObject())
	doc.Tree.Get("commands").Set("ownerAllowFrom", list(owners))
	return doc.Tree, nil
}

// accountsOf returns the accounts of a channel that the script names.
func (p *play) accountsOf(channel string) []string {
	accounts := make(map[string]bool)
	for _, at := range p.script.Places() {
		if at.Channel == channel {
			accounts[accountName(at.Account)] = true
		}
	}
	for _, l := range p.script.Lines {
		if raw, ok := l.Do.(script.Raw); ok && raw.Channel == channel {
			accounts[accountName(raw.Account)] = true
		}
	}
	if len(accounts) == 0 {
		accounts[defaultAccount] = true
	}
	return slices.Sorted(maps.Keys(accounts))
}

const defaultAccount = "default"

func accountName(account string) string {
	if account == "" {
		return defaultAccount
	}
	return account
}

// supply sets what belongs to the harness in any case: how accounts reach the
// test servers, the store, the state folder, the listener, and the owners that
// lines named.
func (p *play) supply(tree *json5.Node) error {
	for _, ch := range p.channels {
		settings := tree.At("channels", ch.name)
		if settings == nil || settings.Kind != json5.Object {
			continue
		}
		accounts := object(settings, "accounts")
		if len(accounts.Members) == 0 {
			object(accounts, defaultAccount)
		}
		for _, m := range accounts.Members {
			for key, value := range ch.server.Config(m.Key) {
				node, err := toNode(value)
				if err != nil {
					return err
				}
				object(accounts, m.Key).Set(key, node)
			}
		}
	}
	object(tree, "store").Set("url", json5.NewString(p.storeURL))
	gateway := object(tree, "gateway")
	gateway.Set("stateDir", json5.NewString(p.state))
	if gateway.Get("http") != nil {
		object(gateway, "http").Set("listen", json5.NewString("127.0.0.1:0"))
	}
	if len(p.owners) > 0 {
		commands := object(tree, "commands")
		all := list(p.owners)
		if set := commands.Get("ownerAllowFrom"); set != nil {
			all.Items = slices.Concat(set.Items, all.Items)
		}
		commands.Set("ownerAllowFrom", all)
	}
	return nil
}

// object returns the object under a key; what is none is left to the decoder
// to refuse.
func object(n *json5.Node, key string) *json5.Node {
	if n.Get(key) == nil {
		n.Set(key, json5.NewObject())
	}
	return n.Get(key)
}

func list(texts []string) *json5.Node {
	n := &json5.Node{Kind: json5.Array}
	for _, s := range texts {
		n.Items = append(n.Items, json5.NewString(s))
	}
	return n
}

func toNode(v any) (*json5.Node, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json5.Parse("", b)
}
