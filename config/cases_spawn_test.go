package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

// TestB157_DocumentedLimitsAreTaken: every limit of sub-agents is taken over all
// of its documented range, for all agents and for one, and nothing beyond.
func TestB157_DocumentedLimitsAreTaken(t *testing.T) {
	for name, c := range map[string]struct{ good, bad []string }{
		"maxSpawnDepth":       {[]string{"1", "2", "5"}, []string{"0", "6"}},
		"maxChildrenPerAgent": {[]string{"1", "5", "20"}, []string{"0", "21"}},
		"maxTreeRuns":         {[]string{"0", "16", "1000"}, []string{"-1"}},
		"runTimeoutSeconds":   {[]string{"0", "600"}, []string{"-1"}},
		"archiveAfterMinutes": {[]string{"0", "60"}, []string{"-1"}},
		"announceTimeoutMs":   {[]string{"1000", "120000"}, []string{"0"}},
		"forkMaxTokens":       {[]string{"0", "100000"}, []string{"-1"}},
		"allowAgents":         {[]string{`["*"]`, `[]`, `["main"]`}, []string{`["A B"]`}},
		"requireAgentId":      {[]string{"true", "false"}, []string{"1"}},
		"delegationMode":      {[]string{`"suggest"`, `"prefer"`}, []string{`"never"`}},
		"thinking":            {[]string{`"off"`, `"high"`}, []string{`"hard"`}},
	} {
		for _, where := range []string{"defaults: { subagents: { %s } }", "entries: { main: { subagents: { %s } } }"} {
			check := func(value string) error {
				doc := `{ agents: { ` + strings.Replace(where, "%s", name+": "+value, 1) + ` } }`
				tree, err := config.ParseTree("skein.json5", []byte(doc), config.Options{})
				require.NoError(t, err)
				_, _, err = config.Decode(tree.Tree, config.Options{})
				return err
			}
			for _, v := range c.good {
				require.NoError(t, check(v), "%s: %s", name, v)
			}
			for _, v := range c.bad {
				require.Error(t, check(v), "%s: %s", name, v)
			}
		}
	}
}

// TestB169_RulesForSubagentsSurviveAnEdit: what a change elsewhere leaves of the
// permissions is what was there.
func TestB169_RulesForSubagentsSurviveAnEdit(t *testing.T) {
	src := `{ agents: { entries: { main: { default: true, subagents: { allowAgents: ["main", "helper"], maxSpawnDepth: 3 } }, helper: {} } } }`
	settings := func(doc string) string {
		tree, err := config.ParseTree("skein.json5", []byte(doc), config.Options{})
		require.NoError(t, err)
		c, _, err := config.Decode(tree.Tree, config.Options{})
		require.NoError(t, err)
		a, ok := c.Agent("main")
		require.True(t, ok)
		out, err := json.Marshal(a.Subagents)
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, settings(src), `["main","helper"]`)
	for path, value := range map[string]string{"logging.level": "debug", "agents.entries.main.name": "Main"} {
		e, err := config.Set("f", path, value, inMemory(map[string]string{"f": src}))
		require.NoError(t, err)
		require.Equal(t, settings(src), settings(string(e.New)))
	}
}
