package subagent

import (
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
)

// uuid writes a run's id as the UUID (version 7) of the same moment, which
// names its session. An id that is no ULID is taken in lower case.
func uuid(runID string) string {
	id, err := ulid.ParseStrict(runID)
	if err != nil {
		return strings.ToLower(runID)
	}
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
