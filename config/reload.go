package config

// Class says what it takes for a changed key to have effect.
type Class string

// The classes, from the lightest to the heaviest.
const (
	ClassLive    Class = "live"    // the next turn uses it
	ByChan       Class = "channel" // the accounts of the channel reconnect
	ByPlug       Class = "plugin"  // the process of the plugin is replaced
	ClassRestart Class = "restart" // the whole process has to be started again
)
