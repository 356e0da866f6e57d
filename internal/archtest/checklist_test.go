package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheChecklistNamesWhatExists: every test and every example that
// docs/subagents-checklist.md gives as a proof is there.
func TestTheChecklistNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("../../docs/subagents-checklist.md")
	require.NoError(t, err)
	var tests bytes.Buffer
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		tests.Write(src)
		return err
	}))
	named := 0
	for _, m := range regexp.MustCompile("`((?:Test|Benchmark)\\w+|[a-z-]+\\.txtar)`").FindAllStringSubmatch(string(page), -1) {
		named++
		if strings.HasSuffix(m[1], ".txtar") {
			require.FileExists(t, "../../examples/"+m[1])
			continue
		}
		if !bytes.Contains(tests.Bytes(), []byte("\nfunc "+m[1]+"(")) {
			t.Errorf("docs/subagents-checklist.md names %s, which is not there", m[1])
		}
	}
	require.Greater(t, named, 50)
}
