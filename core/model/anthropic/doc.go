// Package anthropic calls models over the Anthropic Messages protocol.
//
// Requests, wire types and the framing of events are those of the vendor's
// module. Its retries are off, for the turn has its own, and it reads nothing
// from the environment. Events are taken one by one, because its typed stream
// hides pings and takes a stream that was cut for one that has ended.
//
// # What a stream needs
//
// A call has succeeded when a stop_reason or message_stop has come; a stream
// that ends before is Truncated. Tool calls are put together from their
// fragments and given out whole at the end; while fragments come in, and at
// each ping, the stream yields keep-alives. A stop at max_tokens, or at the end
// of the context window, is marked as Cut; a refusal is Refused.
//
// # Thinking
//
// Models up to 4.5 get a budget of tokens, later ones an effort. The signed
// thoughts that led to calls are kept with them (model.Thought) and sent back
// to the same model, so that it thinks on after the results. Where another
// model made the calls there is nothing to send back, and with a budget that
// turn goes on without thinking.
//
// # Caching
//
// The system prompt with the tools, and the last message, are marked for the
// service's prompt cache. Usage.In counts all input, Usage.CacheRead what of it
// came from there.
//
// # Errors
//
// Every error is a *model.Error: by status, type and message of the service,
// Network for failures of the connection. The context's own end is returned as
// its cause. The key is taken out of all error texts.
package anthropic
