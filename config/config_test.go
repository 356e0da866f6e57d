package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSampleValidates(t *testing.T) {
	src, err := os.ReadFile("testdata/sample.json5")
	require.NoError(t, err)
	c, warnings, err := Parse("sample.json5", src, Options{Env: func(string) (string, bool) { return "", false }})
	require.NoError(t, err)
	t.Log(warnings.String())
	require.NotNil(t, c)
}

func TestDefault(t *testing.T) {
	c := Default()
	require.Equal(t, "main", c.DefaultAgent())
	a, _ := c.Agent("main")
	t.Logf("%+v", a)
	t.Logf("%+v", c.ThreadBindings("console", "default"))
	t.Logf("%+v", c)
}
