"""Large answers of the web server are sent by threads of their own.

A thread of gunicorn's pool makes the answer: it judges the request and asks the database. Sending it takes as long as
the reader likes, minutes for an image, and eight slow readers would hold all threads of a process. So what has a large
body that comes from a file or a stream is handed over, to threads that do nothing but send. They touch no database; a
file is sent by the kernel (`sendfile`), from the page cache that all readers share.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gunicorn.http.wsgi import FileWrapper, Response

from controlplane.infra.conf import web_options

LARGE_BYTES = 2**20

Application = Callable[[Any, Any], Iterable[bytes]]


@dataclass(eq=False)
class LargeAnswer(BaseException):
    """Raised out of gunicorn's handling of a request once the application has given its answer, instead of sending it.

    Not an Exception, since gunicorn takes each of those for a failure of the application.
    """

    response: Any
    body: Any
    environ: dict[str, Any]
    began: datetime

    def send(self, sock: Any) -> bool:
        """Send all of it. Whether the connection can be used again. Raises OSError, and what reading raises.

        A reader that takes nothing for too long is cut off. An agent asks for the rest, and goes on where it was.
        """
        sock.settimeout(web_options().large_answer_stalled_s)
        if isinstance(self.body, FileWrapper):
            self.response.write_file(self.body)
        else:
            for piece in self.body:
                self.response.write(piece)
        self.response.close()
        sock.settimeout(None)
        return not self.response.should_close()

    def close(self) -> None:
        """The application hears that it is over."""
        self.body.close()


def large_answers_raised(application: Application) -> Application:
    """The same application, but that a large answer to a plain HTTP/1 request is raised."""

    def call(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        began = datetime.now()  # noqa: DTZ005 - a difference alone is logged
        body = application(environ, start_response)
        # Gunicorn gives the method of its own response object.
        response = getattr(start_response, "__self__", None)
        is_streamed = isinstance(body, FileWrapper) or getattr(body, "streaming", False)
        if type(response) is Response and is_streamed and (response.response_length or 0) >= LARGE_BYTES:
            raise LargeAnswer(response, body, environ, began)
        return body

    return call
