package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config"
)

// switches are the keys at which a class begins: those whose class is not that
// of the place around them.
type switches struct {
	begin map[config.Class][]string
	// back are the keys of channels and accounts that are live again.
	back []string
}

func (s *switches) collect(k *config.Key, path string) {
	for _, f := range k.Fields {
		if f.Direct {
			continue
		}
		at := strings.TrimPrefix(path+"."+f.Name, ".")
		switch f.Reload {
		case k.Reload:
		case config.ClassLive:
			if !slices.Contains(s.back, f.Name) {
				s.back = append(s.back, f.Name)
			}
			continue
		default:
			s.begin[f.Reload] = append(s.begin[f.Reload], at)
		}
		s.collect(f, at)
	}
	if k.Elem != nil {
		s.collect(k.Elem, path+".<name>")
	}
}

// classTable says for each class which keys have it and what a reload does.
func classTable(root *config.Key) string {
	s := switches{begin: make(map[config.Class][]string)}
	s.collect(root, "")
	var b strings.Builder
	b.WriteString("| class | keys | what a reload does |\n|---|---|---|\n")
	fmt.Fprintf(&b, "| live | everything else; of channels and their accounts: %s | puts it in force for the next message and the next turn |\n", keyList(s.back))
	for _, row := range []struct {
		class config.Class
		does  string
	}{
		{config.ClassChannel, "starts, restarts or ends just the accounts whose keys changed, after what they are sending is sent"},
		{config.ClassPlugin, "names it as pending: it takes effect when the gateway starts"},
		{config.ClassRestart, "names it as pending: it takes effect when the gateway starts"},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row.class, keyList(s.begin[row.class]), row.does)
	}
	return b.String()
}

func keyList(keys []string) string { return "`" + strings.Join(keys, "`, `") + "`" }
