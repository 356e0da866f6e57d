package app

import (
	"fmt"

	"github.com/skein-bot/skein/core/store"
)

// What operators read: alerts, and the same problems in `skein doctor`.

// alertText is the message of an alert.
func alertText(text, remedy string) string { return "Alert: " + text + "\n" + remedy }

func stoppedText(account string, cause error) string {
	return fmt.Sprintf("the account %s has stopped: %v", account, cause)
}

const stoppedRemedy = "Correct its credentials, or end the other program that uses them; then `skein config reload` starts it again."

func blockedText(task, detail string) string {
	return fmt.Sprintf("nobody could be told the outcome of task %s: %s", task, detail)
}

func blockedRemedy(task string) string {
	return fmt.Sprintf("`skein tasks show %s` has the outcome; `skein outbox --state blocked` lists messages to retry or dismiss.", task)
}

func diskText(folder string, d Disk) string {
	return fmt.Sprintf("the disk of %s is nearly full: %s of %s are free", folder, size(d.Free), size(d.Total))
}

const diskRemedy = "Make room before it is full: nothing can be received or sent then. session.retention keeps less."

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func troubleText(s store.OutboxState) string {
	switch s {
	case store.OutAmbiguous:
		return "may have been sent or not"
	case store.OutFailed:
		return "refused by the platform"
	}
	return "given up after many tries"
}
