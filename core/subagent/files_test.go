package subagent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing of a file's content is kept, in whatever form it was written.
func TestContentIsWithheld(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"task":"x","attachments":[{"name":"a","content":"SECRET","encoding":"utf8","mimeType":"text/plain"}]}`,
			`{"task":"x","attachments":[{"name":"a","content":"[withheld: 6 bytes]","encoding":"utf8","mimeType":"text/plain"}]}`},
		{`{"attachments":"SECRET"}`, `{"attachments":"[withheld: 8 bytes]"}`},
		{`{"attachments":[{"name":{"content":"SECRET"}}]}`, `{"attachments":"[withheld: 31 bytes]"}`},
		{`{"attachments":[]}`, `{"attachments":[]}`},
		{`{"Attachments":[{"Name":"a","Content":"SECRET"}]}`, `{"Attachments":[{"name":"a","content":"[withheld: 6 bytes]","encoding":"","mimeType":""}]}`},
		{`{"attachments":[{"content":"SECRET","body":"SECRET"}]}`, `{"attachments":[{"name":"","content":"[withheld: 6 bytes]","encoding":"","mimeType":""}]}`},
		{`"{\"attachments\":[{\"content\":\"SECRET"`, `{"withheld":"41 bytes that are no JSON object"}`},
	} {
		kept, taken := SpawnTool{}.Withhold(json.RawMessage(c.args))
		require.True(t, taken, c.args)
		require.JSONEq(t, c.want, string(kept))
	}
	for _, args := range []string{`{"task":"x"}`, `"{\"task\":\"x"`} {
		_, taken := SpawnTool{}.Withhold(json.RawMessage(args))
		require.False(t, taken)
	}
}
