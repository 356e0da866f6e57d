package config_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
)

// TestIncludesAreBounded: ten files deep, then it ends, with the place.
func TestIncludesAreBounded(t *testing.T) {
	chain := func(deep int) map[string]string {
		files := map[string]string{"f0": `{ $include: "f1" }`, fmt.Sprintf("f%d", deep): `{ agents: { defaults: { maxSteps: 7 } } }`}
		for i := 1; i < deep; i++ {
			files[fmt.Sprintf("f%d", i)] = fmt.Sprintf(`{ $include: "f%d" }`, i+1)
		}
		return files
	}
	c, _, err := config.Load("f0", inMemory(chain(10)))
	require.NoError(t, err)
	require.Equal(t, 7, c.Agents.Defaults.MaxSteps)
	require.Len(t, c.Files(), 11)
	_, _, err = config.Load("f0", inMemory(chain(11)))
	require.EqualError(t, err, "f10:1:13: $include: includes nested deeper than 10 files")
}

// TestIncludesMergeObjectsAndReplaceLists: a later file wins, the keys beside
// win over all.
func TestIncludesMergeObjectsAndReplaceLists(t *testing.T) {
	c, _, err := config.Load("d/f", inMemory(map[string]string{
		"d/f": `{ $include: ["a", "b"], agents: { defaults: { timeoutSeconds: 3 } } }`,
		"d/a": `{ agents: { defaults: { maxSteps: 1, timeoutSeconds: 1, fallbacks: ["s/a", "s/b"] } }, models: { providers: { s: { type: "scripted" } } } }`,
		"d/b": `{ agents: { defaults: { maxSteps: 2, timeoutSeconds: 2, fallbacks: ["s/c"] } } }`,
	}))
	require.NoError(t, err)
	require.Equal(t, 2, c.Agents.Defaults.MaxSteps)
	require.Equal(t, 3, c.Agents.Defaults.TimeoutSeconds)
	require.Equal(t, []string{"s/c"}, c.Agents.Defaults.Fallbacks)
}

// TestFilesOfWhatIsNotValid: they are what has to be mended.
func TestFilesOfWhatIsNotValid(t *testing.T) {
	files := map[string]string{"d/f": `{ $include: ["a", "missing"] }`, "d/a": `{ agnets: {} }`}
	require.Equal(t, []string{"d/f", "d/a", "d/missing"}, config.FilesOf("d/f", inMemory(files)))
	files["d/a"] = "{"
	require.Equal(t, []string{"d/f", "d/a"}, config.FilesOf("d/f", inMemory(files)))
	require.Equal(t, []string{"d/none"}, config.FilesOf("d/none", inMemory(files)))
}

func TestComplete(t *testing.T) {
	c, _, err := config.Parse("<test>", []byte(`{ agents: { entries: { main: { default: true } } } }`), config.Options{})
	require.NoError(t, err)
	for part, want := range map[string][]string{
		"ag": {"agents."}, "agents.d": {"agents.defaults."}, "agents.defaults.maxS": {"agents.defaults.maxSteps"},
		"agents.entries.": {"agents.entries.main."}, "store.url": {"store.url"}, "nothing": nil, "agents.x.y": nil, "store.url.x": nil,
	} {
		require.Equal(t, want, config.Complete(part, c), part)
	}
	require.Nil(t, config.Complete("agents.entries.", nil))
}
