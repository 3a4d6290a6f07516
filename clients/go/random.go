package holdfast

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"strconv"
)

func randomBytes(n int) []byte {
	bytes := make([]byte, n)
	if _, err := rand.Read(bytes); err != nil {
		panic("holdfast: the system has no random numbers: " + err.Error())
	}
	return bytes
}

// randomShare is a number from -1 to 1.
func randomShare() float64 {
	return float64(binary.LittleEndian.Uint32(randomBytes(4)))/math.MaxUint32*2 - 1
}

func newRequestID() string { return hex.EncodeToString(randomBytes(16)) }

// newOwner names this host, process and client.
func newOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(randomBytes(4))
}
