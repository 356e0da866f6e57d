package model

// Info is what the configuration knows about a model.
type Info struct {
	// Vision is set where it takes pictures.
	Vision bool
	// ContextTokens is how much it reads and writes in one call.
	ContextTokens int
	// MaxTokens is its longest answer, 0 if that is not known.
	MaxTokens int
	Price     Price
}

// Key names a model as one credential reaches it: what a service limits.
// Credential is opaque and holds no secret in clear.
type Key struct{ Credential, Model string }
