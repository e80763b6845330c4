"""Signal handlers that log, finish or warn in the middle of a call of the training loop."""

import trackio_like as trackio
from tests.flow.conftest import only_run


def test_a_handler_that_logs_often_loses_doubles_and_mixes_nothing(run_script):
    code, output, errors = run_script(
        """
        import itertools, signal
        run = trackio.init(project="p")
        handled = itertools.count()
        def handler(*_):
            number = next(handled)
            run.log({f"h{number % 7}": number})
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        for i in range(30_000):
            run.log({f"m{i % 50}": i})
        signal.setitimer(signal.ITIMER_REAL, 0)
        run.finish()
        print(next(handled))
        """
    )
    assert (code, errors) == (0, "")
    handled = int(output)
    rows = only_run().history().to_pylist()
    expected = {f"m{k}": list(range(k, 30_000, 50)) for k in range(50)}
    expected |= {f"h{k}": list(range(k, handled, 7)) for k in range(7)}
    found = {}
    for row in rows:
        found.setdefault(row["key"], []).append(row["value"])
    # A handler may interrupt itself, so its own calls may come in another order.
    in_order = {key: sorted(values) if key[0] == "h" else values for key, values in found.items()}
    assert in_order == {key: values for key, values in expected.items() if values}


def test_a_handler_that_finishes_the_run_costs_no_row_of_the_call_it_interrupted(run_script):
    code, output, errors = run_script(
        """
        import sys
        from trackio_like.journal import writer
        logged = []
        for moment in range(1000):
            run = trackio.Run("p")
            reached = -1
            def look(frame, event, _):
                global reached
                if event in ("call", "c_return") and frame.f_code.co_filename == writer.__file__:
                    reached += 1
                    if reached == moment:
                        sys.setprofile(None)
                        run.finish("preempted")
            sys.setprofile(look)
            run.log({"a": moment})
            sys.setprofile(None)
            run.finish()
            logged.append(run.id)
            if reached < moment:
                break
        print(*logged)
        """
    )
    assert (code, "failed" in errors) == (0, False), errors
    ids = output.split()
    assert len(ids) > 5
    for moment, run_id in enumerate(ids):
        assert trackio.Api().run("p", run_id).history()["value"].to_pylist() == [moment]


def test_a_handler_that_logs_something_wrong_while_a_warning_is_given_does_not_hang(run_script):
    code, output, errors = run_script(
        """
        import sys
        from trackio_like.run import guard
        run = trackio.init(project="p")
        for moment in range(1000):
            reached = -1
            def look(frame, event, _):
                global reached
                if event in ("call", "c_return") and frame.f_code.co_filename == guard.__file__:
                    reached += 1
                    if reached == moment:
                        sys.setprofile(None)
                        run.log({"worse": object()})
            sys.setprofile(look)
            run.log({f"bad{moment}": object()})
            sys.setprofile(None)
            if reached < moment:
                break
        print(moment)
        """
    )
    assert code == 0
    assert int(output) > 5
    assert errors.count("'worse' is a object") == 1
