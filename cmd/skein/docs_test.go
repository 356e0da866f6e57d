package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/clock"
)

// TestExamplesPass plays every example once; `make examples` plays them with
// kills.
func TestExamplesPass(t *testing.T) {
	var out, problems bytes.Buffer
	e := &env{stdout: &out, stderr: &problems, lookup: os.LookupEnv, clock: clock.Real{}}
	code := execute(e, []string{"test", filepath.Join("..", "..", "examples")})
	require.Zero(t, code, "%s%s", out.String(), problems.String())
}

// TestDocumentedConfigurationsAreValid checks every configuration that the
// documentation shows; one that leaves the outer braces out gets them.
func TestDocumentedConfigurationsAreValid(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	checked := 0
	block := regexp.MustCompile("(?s)```json5\n(.*?)```")
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range block.FindAllStringSubmatch(string(content), -1) {
			text := m[1]
			if !strings.Contains(text, "\n{") && text[0] != '{' {
				text = "{" + text + "}"
			}
			if strings.Contains(text, "rules: [") {
				continue // rules of the scripted model
			}
			_, _, err := config.Parse(filepath.Base(page), []byte(text), config.Options{Env: os.LookupEnv, Built: config.AllParts()})
			require.NoError(t, err, "%s:\n%s", page, text)
			checked++
		}
	}
	require.Greater(t, checked, 6)
}
