// Package awserr is the only package that gives errors of AWS's services a kind. Callers branch on
// fault kinds. They use Is if a code has a special meaning for one operation.
package awserr

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"southbound/shared/fault"
)

// The error codes that operations check.
const (
	ConditionFailed      = "ConditionalCheckFailedException"
	TransactionConflict  = "TransactionConflictException"
	PreconditionFailed   = "PreconditionFailed"
	ConditionalConflict  = "ConditionalRequestConflict"
	BadDigest            = "BadDigest"
	NoSuchKey            = "NoSuchKey"
	TableInUse           = "ResourceInUseException"
	QueueMissing         = "AWS.SimpleQueueService.NonExistentQueue"
	queueMissingNew      = "QueueDoesNotExist"
	QueueDeletedRecently = "AWS.SimpleQueueService.QueueDeletedRecently"
	queueDeletedNew      = "QueueDeletedRecently"
	QueueNameExists      = "QueueAlreadyExists"
	queueNameNew         = "QueueNameExists"
	// Codes of Lambda. ResourceConflict: a similar resource exists, or an update of the function is
	// in progress. ResourceInUse: a mapping is changing. InvalidParameter: the request is invalid,
	// or a resource that it names.
	ResourceConflict = "ResourceConflictException"
	ResourceInUse    = TableInUse
	InvalidParameter = "InvalidParameterValueException"
)

// kinds maps codes to kinds. Other codes are classified by the HTTP status, see byStatus.
var kinds = byCode(map[fault.Kind][]string{
	fault.NotFound: {
		"ResourceNotFoundException", NoSuchKey, "NoSuchBucket", "NotFound", QueueMissing,
		queueMissingNew, "ParameterNotFound", "ParameterVersionNotFound",
		"ParameterVersionLabelNotFound",
	},
	fault.Conflict: {
		ConditionFailed, TransactionConflict, PreconditionFailed, TableInUse, ResourceConflict,
		QueueNameExists, queueNameNew,
	},
	fault.Invalid: {
		InvalidParameter, "InvalidParameterException", "InvalidRequestException", BadDigest,
		"XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "EntityTooLarge",
	},
	fault.Denied: {
		"AccessDenied", "AccessDeniedException", "UnrecognizedClientException", "ExpiredToken",
		"ExpiredTokenException", "InvalidSignatureException", "SignatureDoesNotMatch",
		"InvalidAccessKeyId", "InvalidClientTokenId", "MissingAuthenticationToken",
		"KmsAccessDenied", "KmsDisabled", "RequestTimeTooSkewed", "AllAccessDisabled",
		"DecryptionFailure",
	},
	fault.Full: {
		"ItemCollectionSizeLimitExceededException", "LimitExceededException",
		"ServiceQuotaExceededException", "ParameterLimitExceeded",
		"ParameterMaxVersionLimitExceeded",
	},
	fault.Unavailable: {
		ConditionalConflict, "OperationAborted", "SlowDown", "RequestTimeout",
		"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
		"RequestThrottled", "TransactionInProgressException", "InternalServerError",
		"InternalError", "InternalFailure", "ServiceUnavailable", "OverLimit", "KmsThrottled",
		"KMS.ThrottlingException", QueueDeletedRecently, "TooManyRequestsException",
		"ServiceException", "ResourceNotReadyException", queueDeletedNew, "TooManyUpdates",
	},
	fault.Internal: {
		"IdempotentParameterMismatchException", "ValidationException", "SerializationException",
		"InvalidRequest", "InvalidArgument", "MalformedXML",
	},
})

// byCode inverts a map of kinds to codes.
func byCode(codes map[fault.Kind][]string) map[string]fault.Kind {
	out := map[string]fault.Kind{}
	for kind, all := range codes {
		for _, code := range all {
			out[code] = kind
		}
	}
	return out
}

// hints are for the operator who has to act.
var hints = map[fault.Kind]string{
	fault.Denied: "check which credentials are in use and which actions their policy allows",
	fault.Full:   "a quota of the account is exhausted; request an increase, or remove unused resources",
}

// Text returns the error text of AWS with the request id, which AWS Support asks for. For other
// errors it returns their text.
func Text(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err.Error()
	}
	out := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" && m != out {
		out += ": " + m
	}
	var numbered interface{ ServiceRequestID() string }
	if errors.As(err, &numbered) && numbered.ServiceRequestID() != "" {
		out += " (request " + numbered.ServiceRequestID() + ")"
	}
	return out
}

// Fault returns err with a kind and an operation, or nil if err is nil. An error that already has a
// kind is returned unchanged.
func Fault(op string, err error) error {
	var have *fault.Error
	if err == nil || errors.As(err, &have) {
		return err
	}
	kind := Kind(err)
	return &fault.Error{Kind: kind, Op: op, Err: err, Hint: hints[kind]}
}

// Kind classifies err.
func Kind(err error) fault.Kind {
	if k := fault.KindOf(err); k != fault.Unknown {
		return k
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if k, ok := kinds[api.ErrorCode()]; ok {
			return k
		}
		if k := byStatus(err); k != fault.Unknown {
			return k
		}
		if api.ErrorFault() == smithy.FaultServer {
			return fault.Unavailable
		}
		return fault.Internal
	}
	if k := byStatus(err); k != fault.Unknown {
		return k
	}
	var canceled *smithy.CanceledError
	var params smithy.InvalidParamsError
	switch {
	case errors.As(err, &canceled):
		return fault.Canceled
	case errors.As(err, &params):
		return fault.Internal
	}
	return fault.Unavailable // no response: the network failed, or a name did not resolve
}

// byStatus classifies err by the status of the response, for services and proxies that send no
// known code.
func byStatus(err error) fault.Kind {
	var res *smithyhttp.ResponseError
	if !errors.As(err, &res) {
		return fault.Unknown
	}
	switch code := res.HTTPStatusCode(); {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fault.Unavailable
	case code == http.StatusNotFound:
		return fault.NotFound
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return fault.Denied
	case code == http.StatusConflict:
		return fault.Unavailable
	case code == http.StatusPreconditionFailed:
		return fault.Conflict
	}
	return fault.Unknown
}

// Code returns the service's error code in err, or "".
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// Is reports whether err has one of the codes.
func Is(err error, codes ...string) bool {
	code := Code(err)
	return code != "" && slices.Contains(codes, code)
}

// NoQueue reports whether err means that a queue does not exist, by either of the two codes in use.
func NoQueue(err error) bool { return Is(err, QueueMissing, queueMissingNew) }

// QueueExists reports whether err means that a queue exists with other attributes, by either of the
// two codes in use.
func QueueExists(err error) bool { return Is(err, QueueNameExists, queueNameNew) }

// Passing reports whether err may be temporary, so that the same request can be retried. A context
// that has ended is not temporary.
func Passing(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded) && Kind(err) == fault.Unavailable
}
