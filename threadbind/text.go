package threadbind

import "github.com/skein-bot/skein/core"

// name returns what people call the session behind a binding.
func name(b core.Binding) string {
	for _, s := range []string{b.Label, b.Agent, b.SessionKey} {
		if s = Title(s, 100); s != "" {
			return s
		}
	}
	return "the agent"
}
