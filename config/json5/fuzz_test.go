package json5_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config/json5"
)

// FuzzParse looks for panics and hangs, and for JSON that is read differently
// from encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{a: 1, 'b': [0x1f, .5, -1e3,], /* c */ "d": "\u00e4\x41\
"} // end`, `{"a": {"b": [null, true, false]}}`, "\ufeff[+1, Infinity]", `{a: 1, a: 2}`, `"\ud83d\ude00"`, "{\\u0061: 1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, err := json5.Parse("f", src)
		if err != nil {
			var faults json5.Errors
			require.ErrorAs(t, err, &faults)
			for _, fault := range faults {
				require.True(t, fault.Pos.IsKnown())
				require.LessOrEqual(t, fault.Pos.Offset, len(src))
			}
			return
		}
		written, err := json.Marshal(tree)
		require.NoError(t, err)
		again, err := json5.Parse("f", written)
		require.NoError(t, err)
		require.Equal(t, tree.Interface(), again.Interface())
		var want any
		if json.Unmarshal(src, &want) == nil {
			require.Equal(t, want, tree.Interface())
		}
	})
}
