package consoletest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func factory() channeltest.Factory {
	return channeltest.Factory{Entry: console.Entry(nil), Server: consoletest.Start}
}

func TestContract(t *testing.T) { channeltest.Run(t, factory()) }

// TestB053_ReplyAnchorGone: the message to answer was deleted; the answer goes
// out without the anchor, once.
func TestB053_ReplyAnchorGone(t *testing.T) { channeltest.Run(t, factory(), "LostAnchor") }

// TestB067_OwnPostsAreNotInput: what the account writes never becomes a turn.
func TestB067_OwnPostsAreNotInput(t *testing.T) { channeltest.Run(t, factory(), "OwnMessages") }

// TestB235_PollOffsetSurvivesRestart: what was taken before a restart does not
// come again after it.
func TestB235_PollOffsetSurvivesRestart(t *testing.T) {
	channeltest.Run(t, factory(), "CursorResumes")
}

// TestB237_SameUpdateFourTimes: one update delivered four times has one id.
func TestB237_SameUpdateFourTimes(t *testing.T) {
	channeltest.Run(t, factory(), "SameUpdateFourTimes")
}

// TestB261_TextLimit: the limit is the adapter's, and a send over it is a
// visible error. Splitting is tested in channels/text.
func TestB261_TextLimit(t *testing.T) { channeltest.Run(t, factory(), "TextLimit") }
