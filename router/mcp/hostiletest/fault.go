package hostiletest

// Fault is what a server does wrong.
type Fault string

// Faults of what is said, on any transport.
const (
	None            Fault = ""
	WrongID         Fault = "answers under the id of no request"
	NoID            Fault = "answers without an id"
	UnknownType     Fault = "answers with an unknown resultType"
	NoMessage       Fault = "answers with neither result nor error"
	NoObject        Fault = "answers with a list for a result"
	ErrorCode       Fault = "answers with an error code out of range"
	HugeErrorCode   Fault = "answers with an error code no integer holds"
	TextErrorCode   Fault = "answers with a word for an error code"
	LongError       Fault = "answers with an error of 8 MB, with colours"
	TextError       Fault = "answers with a word for an error"
	Nested          Fault = "answers with JSON a million levels deep"
	Amplified       Fault = "answers with two million small objects"
	NoText          Fault = "answers with bytes that are no UTF-8"
	AnotherEra      Fault = "says in mid-session that it does not speak the version"
	Twice           Fault = "answers twice"
	Stray           Fault = "sends ten thousand answers to nobody first"
	Asks            Fault = "sends ten thousand requests of its own first"
	FloodsProgress  Fault = "sends ten thousand progress reports a second and does not end"
	FloodsThenEnds  Fault = "sends ten thousand progress reports at once, then answers"
	FallingProgress Fault = "sends progress that falls and does not end"
	ForeignProgress Fault = "sends progress under tokens of others and does not end"
	Silent          Fault = "takes the call and never answers"
	AfterCancel     Fault = "answers once the call was cancelled"
)

// Faults of how it is said.
const (
	Half            Fault = "answers with half a message"
	HalfThenSilence Fault = "answers with half a message and falls silent"
	HalfThenEnd     Fault = "breaks off in the middle of a message"
	Huge            Fault = "answers with 200 MB"
	HugeIDLast      Fault = "answers with 200 MB, its id at the end"
	Dropped         Fault = "is gone before it answers" // the process ends, the connection closes
	LostRequest     Fault = "is gone before its tool takes effect"
	Killed          Fault = "is killed before it answers" // SIGKILL, a reset
)

// Faults of a child process.
const (
	FloodsStderr Fault = "writes 50 MB to stderr before it answers"
	FloodsJunk   Fault = "writes 50 MB of lines that are no messages first"
	Mumbles      Fault = "prints words before its answer, on the same line"
	ClosesInput  Fault = "answers, closes its input and lives on"
	ClosesOutput Fault = "closes its output and lives on"
)

// Faults of an HTTP server. Those up to LosesSessions refuse the request before work.
const (
	Unauthorized      Fault = "401 with a scheme nobody knows"
	TooMany           Fault = "429 without Retry-After"
	UnavailableLater  Fault = "503 with Retry-After"
	Redirects         Fault = "redirects to another host"
	LosesSessions     Fault = "404: it does not know the session it gave"
	Unavailable       Fault = "503 without Retry-After"
	BadGateway        Fault = "502: a proxy lost the answer"
	Compressed        Fault = "answers with 200 MB in 200 KB of gzip"
	HugeHeader        Fault = "answers with a header of 64 MB"
	Dribbles          Fault = "answers a byte at a time"
	HugeEvent         Fault = "sends an event of 200 MB"
	EndlessComments   Fault = "sends comment lines and nothing else"
	RefusesAnswers    Fault = "asks in mid-call, and answers what it is told with 429"
	EndsWithoutAnswer Fault = "ends its event stream without an answer"
)

// Faults of what a server says of itself.
const (
	BadInputSchema   Fault = "has an input schema that is none"
	BadOutputSchema  Fault = "has an output schema that is none"
	InputSchemaAfar  Fault = "has an input schema that refers to another host"
	OutputSchemaAfar Fault = "has an output schema that refers to another host"
	UnknownEra       Fault = "speaks no version that anybody knows"
	LaterEra         Fault = "answers the earlier handshake with the later version"
	EndlessTools     Fault = "has a list of tools that does not end"
	HundredThousand  Fault = "has a hundred thousand tools"
)

// Faults of what a server makes of a call, and of whom it asks.
const (
	TaskForEver Fault = "makes a task that never ends, to be asked for every millisecond"
	TaskGarbled Fault = "makes a task, and tells of it what cannot be read"
	ShedsLoad   Fault = "has a call made again and again, as if it were busy"
	AsksPeople  Fault = "puts ten thousand questions to a person, and does not end"
)

// tasks reports a fault of a server that makes tasks.
func (f Fault) tasks() bool { return f == TaskForEver || f == TaskGarbled }

// refusal reports a fault that is done before the tool takes effect.
func (f Fault) refusal() bool {
	switch f {
	case Unauthorized, TooMany, UnavailableLater, Redirects, LosesSessions, AnotherEra:
		return true
	}
	return false
}

// ofItself reports a fault of the handshake or of the list of tools.
func (f Fault) ofItself() bool {
	switch f {
	case BadInputSchema, BadOutputSchema, InputSchemaAfar, OutputSchemaAfar, UnknownEra, LaterEra, EndlessTools, HundredThousand:
		return true
	}
	return false
}
